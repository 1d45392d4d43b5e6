"""Tables that the code decides are in the pages as the code has them.

After a change: `UPDATE_DOCS=1 .venv/bin/pytest tests/docs/test_generated.py` writes them.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from tests.docs.generated import (
    code_map,
    command_line,
    errors_table,
    limits_table,
    local_services,
    parameters_table,
    settings_table,
)
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

MADE: dict[str, Callable[[], str]] = {
    "settings": settings_table,
    "errors": errors_table,
    "limits": limits_table,
    "local": local_services,
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
