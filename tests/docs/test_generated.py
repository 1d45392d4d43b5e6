"""Tables that the code decides are in the pages as the code has them.

After a change: `UPDATE_DOCS=1 .venv/bin/pytest tests/docs/test_generated.py` writes them.
"""

from __future__ import annotations

import importlib
import os
import re
from typing import TYPE_CHECKING

import pytest

from tests.docs.generated import code_map, command_line, errors_table, parameters_table, settings_table
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

MADE: dict[str, Callable[[], str]] = {
    "settings": settings_table,
    "errors": errors_table,
    "parameters": parameters_table,
    "code-map": code_map,
    "command-line": command_line,
}
BETWEEN = re.compile(r"(?<=<!-- generated -->\n).*?(?=<!-- end -->)", re.DOTALL)


@pytest.mark.parametrize("name", MADE)
def test_what_the_code_decides_is_in_the_page(name: str) -> None:
    """Nothing of it is typed in."""
    page = ROOT / "docs" / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    if os.environ.get("UPDATE_DOCS"):
        text = BETWEEN.sub(lambda _: MADE[name](), text)
        page.write_text(text, encoding="utf-8")
    assert BETWEEN.findall(text) == [MADE[name]()]


LIMITS = re.findall(
    r"^\| ([^|]+) \| ([\d ]+)[^|]*\| `([\w/]+)\.py` `(\w+)` \|$", (ROOT / "docs/limits.md").read_text(), re.MULTILINE
)


def test_the_page_of_limits_names_constants() -> None:
    """Most of its rows are held to the code."""
    assert len(LIMITS) > 25


@pytest.mark.parametrize(("what", "value", "module", "constant"), LIMITS, ids=[f"{row[2]}:{row[3]}" for row in LIMITS])
def test_a_limit_in_the_docs_is_that_of_the_code(what: str, value: str, module: str, constant: str) -> None:
    """In the unit that the row names."""
    unit = 1024**2 if "MiB" in what and "_MIB_" not in constant else 1024 if "KiB" in what else 1
    assert getattr(importlib.import_module(module.replace("/", ".")), constant) == int(value.replace(" ", "")) * unit
