"""Examples of the guides that no command shows: definitions load, and Python finds what it imports."""

from __future__ import annotations

import ast
import importlib
from typing import Any, Final

import pytest
import yaml

from shared.definitions.loading.load import load
from tests.docs.transcripts import blocks
from tests.support import ROOT

PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
SOURCES: Final[dict[str, Any]] = {
    "customers": {"cosmos": {"database": "shop", "container": "customers"}, "partitionKey": "customerId"},
    "orders": {"eventHub": "orders", "partitionKey": "customer.id"},
}


def examples(language: str) -> list[Any]:
    """Every block of a language, but those of pages whose own tests run them."""
    return [
        pytest.param(body, id=f"{path.stem}-{number}")
        for path in PAGES
        if path.name not in {"definitions.md", "clients.md"}
        for number, body in enumerate(body for info, body in blocks(path) if info.split()[:1] == [language])
    ]


@pytest.mark.parametrize("text", examples("yaml"))
def test_definitions_in_the_guides_load(text: str) -> None:
    """Also where a page shows a part of the file."""
    written: dict[str, Any] = yaml.safe_load(text)
    whole = {"version": 1, "sources": SOURCES, "indexes": {}, **written}
    assert load(yaml.safe_dump(whole, allow_unicode=True)).faults == ()


@pytest.mark.parametrize("text", examples("python"))
def test_python_in_the_guides_imports_what_there_is(text: str) -> None:
    """Every module, and every name in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            module = importlib.import_module(node.module)
            assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []
