"""The room that a key has, and what happens to keys that need more.

The Table service takes 512 UTF-16 units per key (1 KiB). A RowKey is sort parts, fact key and version, so
each has a budget of its own. What is over its budget is cut and gets a digest of the whole: still
injective, still in order up to the cut. The reader compares stored values where that matters
(`Bounds.is_widened`).
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from shared.definitions.utf16 import CHARACTER_UNITS_MAX, utf16_cut, utf16_length

KEY_UNITS: Final = 512
VERSION_UNITS: Final = 44
FACT_UNITS: Final = 128
SORT_UNITS: Final = KEY_UNITS - FACT_UNITS - VERSION_UNITS
SHARD_UNITS: Final = 4
PARTITION_UNITS: Final = KEY_UNITS - SHARD_UNITS

# No encoded value contains this: after ` "` come two hex digits or `=`.
_CUT: Final = ' "~'
_DIGEST_UNITS: Final = 32


def cut_to_fit(encoded: str, limit_units: int) -> str:
    """`encoded` when it fits in its budget, otherwise its beginning and a digest of it all."""
    if len(encoded) * CHARACTER_UNITS_MAX <= limit_units or utf16_length(encoded) <= limit_units:
        return encoded
    digest = sha256(encoded.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_UNITS]
    return utf16_cut(encoded, limit_units - len(_CUT) - _DIGEST_UNITS) + _CUT + digest


def is_cut(text: str) -> bool:
    """Whether a key of one value or more was over its budget."""
    return text[-_DIGEST_UNITS - len(_CUT) : -_DIGEST_UNITS] == _CUT


def first_cut(text: str) -> range | None:
    """Where the first mark of a cut and its digest stand; None when nothing was cut."""
    start = text.find(_CUT)
    return None if start < 0 else range(start, start + len(_CUT) + _DIGEST_UNITS)


def after_cut(text: str) -> str:
    """What follows a text that was cut; all of it when none was."""
    _, cut, rest = text.rpartition(_CUT)
    return rest[_DIGEST_UNITS:] if cut else text


def kept_units(limit_units: int) -> int:
    """How many units of a cut key are surely its own: one fewer than fit, since a surrogate pair is never split."""
    return limit_units - len(_CUT) - _DIGEST_UNITS - 1
