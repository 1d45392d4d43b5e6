"""Values in messages: short, and never a reason for another error."""

from __future__ import annotations

from typing import Final

from shared.entries.keys.fact_key import MISSING

_UNITS_MAX: Final = 80


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
    return text if len(text) <= _UNITS_MAX else text[: _UNITS_MAX - 3] + "..."
