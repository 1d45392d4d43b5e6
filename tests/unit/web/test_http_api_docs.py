"""docs/http-api.md and docs/errors.md document everything that the API has, and nothing else; the Python runs."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from shared.catalog.rows import CatalogGeneration
from shared.lookup.asking.conditions import COMPARISONS, NULL
from shared.lookup.asking.options import NAMES
from shared.web.api.lifecycle import generation_json
from shared.web.openapi.document import openapi
from tests.contract.tables.table_services import key_client
from tests.docs.generated import statuses
from tests.support import ROOT
from tests.worlds.lookup_facts import DEFINITIONS, YAML, facts, put_facts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXT = (ROOT / "docs" / "http-api.md").read_text(encoding="utf-8")
ERRORS = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")


def test_every_code_is_documented_with_its_status() -> None:
    """One row each, and no row without a code."""
    rows = re.findall(r"^\| `([A-Z][A-Za-z]+)` \| (\d{3}) \|", ERRORS, re.MULTILINE)
    assert {code: int(status) for code, status in rows} == statuses()


def test_the_openapi_document_knows_every_code() -> None:
    """Also those of calls with a body: a client that is made from the document must not fail on a refusal."""
    problem = openapi(DEFINITIONS)["components"]["schemas"]["Problem"]
    assert set(problem["properties"]["code"]["enum"]) == set(statuses())


def test_every_code_that_is_raised_has_a_status() -> None:
    """One without would be a 500 to the caller."""
    files = [path for path in (ROOT / "shared").rglob("*.py") if "definitions" not in path.parts]
    found = {code for path in files for code in raised(path)}
    assert {"BadRequest", "TooEarly", "InvalidToken"} <= found
    assert found - set(statuses()) == set()


def raised(path: Path) -> Iterator[str]:
    """The codes in a file that a call is refused with."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(ast.Name("LifecycleRefusedError" | "fault"), [ast.Constant(str(code)), *_]):
                yield code


def test_all_codes_stand_in_one_table() -> None:
    """Anything between two rows would end the table on the rendered page."""
    table = ERRORS.partition("| code | status |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `([A-Z][A-Za-z]+)` \|", table, re.MULTILINE)) == set(statuses())


def test_every_member_of_a_generation_is_documented() -> None:
    """Where the calls are that show it."""
    index = DEFINITIONS.indexes["customers-by-town"]
    source = DEFINITIONS.sources[index.source]
    shown = generation_json(
        CatalogGeneration("id", index.name, "table", "building", index, source, entered_at=0, starts_at=0)
    )
    (section,) = re.findall(r"^## Building and switching\n(.*?)^## ", TEXT, re.MULTILINE | re.DOTALL)
    assert [name for name in shown if f"`{name}`" not in section] == []


def test_every_parameter_is_documented() -> None:
    """Options, operators, and Azure's own."""
    for name in (*NAMES, "code", "clientId"):
        assert f"`{name}" in TEXT, name
    for operator in (*COMPARISONS, NULL):
        assert f"`PART.{operator}" in TEXT, operator


def test_every_call_is_documented() -> None:
    """Every path of the OpenAPI document, whatever the index is called."""
    document = openapi(DEFINITIONS)
    general = {re.sub(r"/indexes/[a-z-]+", "/indexes/{name}", path) for path in document["paths"]}
    assert [path for path in sorted(general) if f"{path}" not in TEXT] == []


async def test_the_python_example_runs(azurite: str, tmp_path: Any) -> None:
    """As it stands in the file."""
    (tmp_path / "indexes.yaml").write_text(YAML)
    async with key_client(azurite) as tables:
        await put_facts(tables, facts())
    example, with_a_credential = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    scope: dict[str, Any] = {}
    exec(with_a_credential, scope)
    assert scope["account"].name == "NAME.table.core.windows.net".lower()
    await scope["account"].credential.close()
    exec(example, scope)
    found = await scope["main"](tmp_path / "indexes.yaml", azurite)
    assert found == ["Bob", "Ann 01", *(f"Ann {number:02}" for number in range(1, 8))]
