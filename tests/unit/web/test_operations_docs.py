"""docs/troubleshooting.md has advice for every kind of dead letter."""

from __future__ import annotations

import re
from typing import get_args

from shared.pipeline.dead_letters.replay import Result
from shared.pipeline.dead_letters.rows import KINDS
from shared.web.api.dead_letters import FILTERS, OLDER_THAN
from tests.support import ROOT

TROUBLESHOOTING = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
HTTP_API = (ROOT / "docs" / "http-api.md").read_text(encoding="utf-8")


def test_every_kind_of_failure_has_its_advice() -> None:
    """One row each, and no row for what there is not."""
    section = TROUBLESHOOTING.partition("## Facts are missing from an index")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z][A-Za-z]+)` \| .* \| .* \|$", section, re.MULTILINE)
    assert set(KINDS) == set(rows)


def test_every_outcome_and_parameter_of_dead_letters_is_documented() -> None:
    """In the page of the API."""
    section = HTTP_API.partition("## Dead letters")[2].partition("\n## ")[0]
    for name in (*get_args(Result), *FILTERS, OLDER_THAN):
        assert f"`{name}`" in section, name
