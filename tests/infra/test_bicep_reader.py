"""The reader of Bicep that the checks rest on means what Bicep means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.infra.bicep.deployment import deploy
from tests.infra.bicep.functions import Unknown
from tests.infra.bicep.references import TemplateError
from tests.infra.bicep.symbols import symbol_faults
from tests.infra.bicep.syntax import parse

if TYPE_CHECKING:
    from pathlib import Path

TEMPLATE = """
var people = [{{ name: 'Ann', age: 40 }}, {{ name: 'Bob', age: 7 }}]
var byName = {{ Ann: {{ town: 'Redmond' }} }}
resource group 'Microsoft.Resources/resourceGroups@2025-04-01' = {{
  name: 'rg'
  location: people[0].name
  tags: {{ value: {expression}, other: byName }}
}}
"""


def value(folder: Path, expression: str) -> Any:
    """What an expression evaluates to."""
    path = folder / "main.bicep"
    path.write_text(TEMPLATE.format(expression=expression))
    (group,) = deploy(path, {})
    return group.body["tags"]["value"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("map(people, one => one.name)", ["Ann", "Bob"]),
        ("filter(people, one => one.age > 18 && (one.name == 'Ann'))", [{"name": "Ann", "age": 40}]),
        ("map(people, one => one.age > 18 ? one.name : 'a child')", ["Ann", "a child"]),
        ("map(people, one => map([1], two => '${one.name}${two}'))", [["Ann1"], ["Bob1"]]),
        ("reduce(people, 0, (sum, one) => sum + (one.age))", 47),
        ("[for (one, i) in people: '${i}:${one.name}']", ["0:Ann", "1:Bob"]),
        ("byName.?Eve.?town ?? 'nowhere'", "nowhere"),
        ("byName[?'Ann'].?town ?? 'nowhere'", "Redmond"),
        ("union(['a', 'b'], ['b', 'c'])", ["a", "b", "c"]),
        ("items(byName)[0].key", "Ann"),
        ("!empty([]) || length(people) == 2", True),
        (r"'it\'s a \\'", "it's a \\"),
        ("'''it's ${no} text'''", "it's ${no} text"),
    ],
)
def test_an_expression_has_its_value(expression: str, expected: object, tmp_path: Path) -> None:
    """Lambdas reach as far as Bicep lets them, which is further than the grammar does."""
    assert value(tmp_path, expression) == expected


def test_what_only_azure_knows_stays_unknown(tmp_path: Path) -> None:
    """Also inside a longer text."""
    path = tmp_path / "main.bicep"
    path.write_text(
        "resource one 'Microsoft.Resources/resourceGroups@2025-04-01' = {\n  name: 'one'\n}\n"
        "resource two 'Microsoft.Resources/resourceGroups@2025-04-01' = {\n"
        "  name: 'two'\n  tags: { known: one.id, unknown: 'x${one.properties.state}' }\n}\n"
    )
    tags = deploy(path, {})[1].body["tags"]
    assert tags["known"].endswith("/resourceGroups/one")
    assert isinstance(tags["unknown"], Unknown)


@pytest.mark.parametrize("expression", ["byName.Eve", "people[0].town", "nobody(1)", "1 + people[0].age"])
def test_what_cannot_be_evaluated_is_an_error(expression: str, tmp_path: Path) -> None:
    """What Azure would refuse, and what the grammar misreads: never a silent nothing."""
    with pytest.raises(TemplateError):
        value(tmp_path, expression)


def test_a_lambda_binds_its_name_in_all_of_its_body(tmp_path: Path) -> None:
    """And nowhere else."""
    path = tmp_path / "main.bicep"
    path.write_text("output good array = filter([], one => one.a == one.b)\noutput bad array = [one]\n")
    assert symbol_faults(parse(path)) == ["main.bicep:2: one is not declared"]
