"""`index-tables client` writes modules that can be loaded, whatever the indexes and their parts are called."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

import pytest

from cli.client_code.python import python_code
from cli.client_code.typescript import typescript_code
from cli.main import main
from shared.definitions.loading.load import load

if TYPE_CHECKING:
    from pathlib import Path

YAML = """
version: 1
sources:
  facts:
    cosmos: {database: d, container: c}
    partitionKey: p
  events:
    eventHub: h
    version: v
indexes:
  entry:
    source: facts
    partition: {path: a, name: class}
    sort: [{path: b, name: from, type: datetime, nulls: index}, {path: n, type: integer}]
    project: ['"Major Genre"', address.street, address.zip, "name"]
  a:
    source: events
    partition: [a, b]
    project: [x]
    access: {bind: {b: tid}}
  a-key:
    source: facts
    partition: a
  a_key:
    source: facts
    partition: a
    sort: b
    summarize: {facts: facts, mean: {average: x}, total: {sum: x}}
  bare:
    source: facts
    partition: a
    project: keys
"""
DEFINITIONS = load(YAML).require()


@pytest.fixture
def module() -> dict[str, Any]:
    """What the Python module defines."""
    scope: dict[str, Any] = {}
    exec(compile(python_code(DEFINITIONS), "indexes.py", "exec", dont_inherit=True), scope)
    return scope


def test_no_class_has_the_name_of_another_or_of_what_the_client_has(module: dict[str, Any]) -> None:
    """`Entry` is the client's; two indexes may differ in punctuation alone."""
    names = ["EntryIndex", "A", "AKeyIndex", "AKeyIndexIndex"]
    assert [module[name].__doc__ for name in names] == [
        f"The index {name}." for name in ("entry", "a", "a-key", "a_key")
    ]
    assert [f"export class {name} extends" in typescript_code(DEFINITIONS) for name in names] == [True] * 4


def test_a_part_of_the_partition_is_required_unless_the_app_fills_it_in(module: dict[str, Any]) -> None:
    """From the claims of the caller."""
    conditions = module["AConditions"]
    assert (conditions.__required_keys__, conditions.__optional_keys__) == ({"a"}, {"b"})
    assert "  a: string" in typescript_code(DEFINITIONS)
    assert "  b?: string" in typescript_code(DEFINITIONS)


def test_names_that_python_keeps_for_itself_are_keywords_of_a_call(module: dict[str, Any]) -> None:
    """As `find(**{"class": …})`."""
    conditions = typing.get_type_hints(module["EntryIndexConditions"])
    assert {"class", "from", "from__ge", "n", "n__lt"} <= conditions.keys()
    assert "from__prefix" not in conditions
    assert conditions["n__lt"] is int
    assert type(None) in typing.get_args(conditions["from"])


def test_data_has_the_shape_of_what_is_projected(module: dict[str, Any]) -> None:
    """Nested as in the fact; of a summary the measures."""
    data = typing.get_type_hints(module["EntryIndexData"])
    assert data.keys() == {"Major Genre", "address", "name"}
    assert typing.get_type_hints(data["address"]) == {"street": Any, "zip": Any}
    assert typing.get_type_hints(module["AKeyIndexIndexData"]) == {"facts": int, "mean": float | None, "total": float}
    assert '"Major Genre"?: unknown; name?: unknown; address?: { street?: unknown; zip?: unknown }' in (
        typescript_code(DEFINITIONS)
    )


def test_only_indexes_with_documents_can_be_expanded(module: dict[str, Any]) -> None:
    """And only where fields are projected some can be selected."""
    names = ("EntryIndex", "A", "AKeyIndexIndex", "Bare")
    options = {name: module[f"{name}Options"].__annotations__.keys() for name in names}
    assert [name for name, keys in options.items() if "expand" in keys] == ["EntryIndex", "Bare"]
    assert [name for name, keys in options.items() if "select" in keys] == ["EntryIndex", "A", "AKeyIndexIndex"]


def test_faults_of_the_file_are_printed_instead(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As validate prints them, with exit code 1."""
    (tmp_path / "indexes.yaml").write_text(YAML.replace("partition: a\n", "partitoin: a\n", 1))
    assert main(["client", "python", str(tmp_path / "indexes.yaml"), "-o", str(tmp_path / "indexes.py")]) == 1
    printed = capsys.readouterr()
    assert "partitoin" in printed.out
    assert "no client" in printed.err
    assert not (tmp_path / "indexes.py").exists()
