"""Dotted paths: the part of JMESPath that is only field names, which most paths are.

A segment is an identifier or a quoted name (`"Major Genre"`). Everything else is left to JMESPath proper.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Final

_SEGMENT: Final = r'(?:[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*")'
_SEGMENTS: Final = re.compile(_SEGMENT)
_DOTTED: Final = re.compile(rf"{_SEGMENT}(?:\.{_SEGMENT})*")


@lru_cache(maxsize=4096)
def segments(path: str) -> tuple[str, ...] | None:
    """The field names of a dotted path, or None when it is more (or less) than that."""
    if not _DOTTED.fullmatch(path):
        return None
    try:
        return tuple(json.loads(part) if part[0] == '"' else part for part in _SEGMENTS.findall(path))
    except ValueError:
        return None


def quoted(name: str) -> str:
    """A field name as a path segment."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else json.dumps(name, ensure_ascii=False)
