"""Values in messages: short, and never a reason for another error."""

from __future__ import annotations

from typing import Final

from shared.entries.keys.fact_key import MISSING

_CHARACTERS_MAX: Final = 80
_EXPRESSION_CHARACTERS_MAX: Final = 60


def value_in_message(value: object) -> str:
    """A value as a message shows it."""
    if value is MISSING:
        return "missing"
    if isinstance(value, (dict, list)):
        return f"a{'n object' if isinstance(value, dict) else ' list'} of {len(value)}"
    try:
        text = ascii(value)
    except ValueError:
        # CPython does not print integers of more than 4300 digits.
        return "an endless integer"
    return shortened(text, _CHARACTERS_MAX)


def expression_in_message(text: str) -> str:
    """An expression as a message shows it."""
    return f'"{shortened(text, _EXPRESSION_CHARACTERS_MAX)}"'


def shortened(text: str, characters_max: int) -> str:
    """A text, or its beginning when it is longer."""
    return text if len(text) <= characters_max else text[: characters_max - 3] + "..."
