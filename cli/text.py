"""Text of facts and answers, for a terminal: what could move its cursor or turn letters around becomes an escape."""

from __future__ import annotations

import json
import re
from typing import Any, Final

# C0 and C1, line and paragraph separators, marks that change the direction of text, and halves of characters.
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """The text with every control character as an escape, such as `\\x1b`."""
    return _CONTROLS.sub(_escape, text)


def visible_lines(text: str) -> str:
    """The same for text of several lines, which stay."""
    return "\n".join(map(visible, text.split("\n")))


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON whose control characters are all escaped, which any reader of JSON undoes."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return _CONTROLS.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _SHORT.get(match[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
