"""Faults of single texts: names of sources and indexes, and expressions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shared.definitions.expressions import problem_with

if TYPE_CHECKING:
    from shared.definitions.loading.findings import Findings, KeyPath

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_SHOWN_MAX: Final = 100


def check_name(path: KeyPath, name: str, findings: Findings) -> None:
    """Report what is no name of a source or index."""
    if not _NAME.fullmatch(name):
        findings.fault(path, f'"{name}" is not a name', "Use up to 63 letters, digits, - and _, a letter first.")


def check_expression(path: KeyPath, text: str | None, findings: Findings) -> None:
    """Report what is no expression."""
    if text is None or (problem := problem_with(text)) is None:
        return
    if text.startswith("/"):
        fix = f'Paths have dots and no slashes: "{text.strip("/").replace("/", ".")}".'
    else:
        fix = "Correct the JMESPath expression; a field name with other characters is quoted: '\"Major Genre\"'."
    shown = text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"
    findings.fault(path, f'"{shown}" is not an expression: {problem}', fix)
