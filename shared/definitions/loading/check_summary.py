"""Checks of summaries: the names of measures, and what does not go together with `summarize`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shared.definitions.loading.findings import Findings, KeyPath
    from shared.definitions.model import Index

# The row of a group keeps up to 64 numbers with counts for each path: so many paths stay far below 1 MiB.
MEASURES_MAX: Final = 20
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NOT_WITH: Final = {
    "project": 'A group carries its measures and nothing of a single fact: take "project" out.',
    "expire": 'A total does not know when its facts expire: take "expire" out, or delete the facts themselves.',
}


def check_summary(index: Index, findings: Findings) -> None:
    """Check `summarize` of one index, but for the expressions in it."""
    at: KeyPath = ("indexes", index.name)
    for key, fix in _NOT_WITH.items():
        if (*at, key) in findings.lines:
            findings.fault((*at, key), f'"{key}" does not go with "summarize"', fix)
    measures = index.summarize or ()
    if len(measures) > MEASURES_MAX:
        what = f"{len(measures)} measures are named"
        findings.fault((*at, "summarize"), what, f"Name at most {MEASURES_MAX}, or make two summaries of them.")
    for measure in measures:
        if not _NAME.fullmatch(measure.name):
            fix = "Use letters, digits and _, a letter first."
            findings.fault((*at, "summarize", measure.name), f'"{measure.name}" is not a name for a measure', fix)
