"""LIKE patterns as regular expressions."""

from __future__ import annotations

import re
from functools import lru_cache


@lru_cache(maxsize=256)
def like_regex(pattern: str, escape: str | None) -> re.Pattern[str]:
    """LIKE's pattern as a regular expression: % any text, _ one character, [] and [^] one of a set."""
    parts: list[str] = []
    position = 0
    while position < len(pattern):
        text, position = _part(pattern, position, escape)
        parts.append(text)
    return re.compile("".join(parts), re.DOTALL)


def _part(pattern: str, position: int, escape: str | None) -> tuple[str, int]:
    character = pattern[position]
    if character == escape and position + 1 < len(pattern):
        return re.escape(pattern[position + 1]), position + 2
    if character == "%":
        return ".*", position + 1
    if character == "_":
        return ".", position + 1
    closing = pattern.find("]", position + 1)
    if character == "[" and closing > position + 1:
        return _set(pattern[position + 1 : closing]), closing + 1
    return re.escape(character), position + 1


def _set(inner: str) -> str:
    is_negated = inner.startswith("^") and len(inner) > 1
    members = inner[1:] if is_negated else inner
    if re.fullmatch(r"\w-\w", members) and members[0] <= members[2]:
        return f"[{'^' if is_negated else ''}{members}]"
    return f"[{'^' if is_negated else ''}{''.join(re.escape(member) for member in members)}]"
