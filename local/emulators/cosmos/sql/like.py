"""LIKE patterns as regular expressions."""

from __future__ import annotations

import re
from functools import lru_cache


@lru_cache(maxsize=256)
def like_regex(pattern: str, escape: str | None) -> re.Pattern[str]:
    """LIKE's pattern as a regular expression: % any text, _ one character, [] and [^] one of a set.

    What stands between two % is searched from left to right and never given back (an atomic group), because the first
    place where it fits is as good as any: matching stays linear however many % there are.
    """
    first, *rest = _between_percents(pattern, escape)
    if not rest:
        return re.compile(first, re.DOTALL)
    *middle, last = rest
    found = "".join(f"(?>.*?{segment})" for segment in middle)
    return re.compile(f"{first}{found}.*{last}", re.DOTALL)


def _between_percents(pattern: str, escape: str | None) -> list[str]:
    segments = [""]
    position = 0
    while position < len(pattern):
        if pattern[position] == "%" and escape != "%":
            segments.append("")
            position += 1
        else:
            text, position = _part(pattern, position, escape)
            segments[-1] += text
    return segments


def _part(pattern: str, position: int, escape: str | None) -> tuple[str, int]:
    character = pattern[position]
    if character == escape and position + 1 < len(pattern):
        return re.escape(pattern[position + 1]), position + 2
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
