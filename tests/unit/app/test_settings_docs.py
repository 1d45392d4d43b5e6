"""The table of settings in the docs is made from the settings themselves.

After a change of a setting: `UPDATE_DOCS=1 .venv/bin/pytest tests/unit/app/test_settings_docs.py` writes the table.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from shared.app.settings import ALL
from tests.support import ROOT

if TYPE_CHECKING:
    from shared.app.settings import Setting

PAGE = ROOT / "docs" / "settings.md"
BETWEEN = re.compile(r"(?<=<!-- made from shared/app/settings\.py -->\n).*?(?=<!-- end -->)", re.DOTALL)


def row(setting: Setting[Any]) -> str:
    """A setting as a row of the table."""
    default = {None: "must be set", "": "empty"}.get(setting.default, f"`{setting.default}`")
    return f"| `{setting.name}` | {setting.type.words} | {default} | {setting.help} |"


def test_the_table_in_the_docs_is_made_from_the_settings() -> None:
    """Name, type, default and meaning of every setting."""
    table = "\n".join(["| setting | type | default | meaning |", "|---|---|---|---|", *map(row, ALL), ""])
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(BETWEEN.sub(lambda _: table, page), encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
    assert BETWEEN.findall(page) == [table]
