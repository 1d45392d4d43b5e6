"""What a reader of a file finds on a line: a fact, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Line:
    """Where a fact begins, and the fact; `fault` says what is wrong when there is none."""

    number: int
    fact: dict[str, Any] | None
    fault: str = ""
