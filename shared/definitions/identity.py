"""Generations: an id for what a definition means physically, and the table that holds it.

Two definitions that would give the same rows in the same places have the same id, whatever their file looks
like. Everything else is a new generation: a table of its own, built and then switched to.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from shared.definitions.model import Events

if TYPE_CHECKING:
    from shared.definitions.model import Index, Source

# Raise it with any change to how keys, versions or columns are written: every index is then built anew.
CODEC_VERSION: Final = 1
_ID_DIGITS: Final = 16
_DIGEST_DIGITS: Final = 8
_TABLE_NAME_MAX: Final = 63
# `p` and a day: see `entries.keys.periods`.
_PERIOD_MAX: Final = 9


def physical_keys(index: Index, source: Source) -> dict[str, Any]:
    """What decides an index's rows, by the key of the file that says it."""
    project = index.project if isinstance(index.project, str) else tuple(sorted(index.project))
    keys = replace(index, project=project).plain()
    if index.summarize is not None:
        keys["summarize"] = sorted((measure.name, measure.kind, measure.path) for measure in index.summarize)
    if keys["expire"] is not None and keys["expire"]["tables"] is None:
        # As before there were periods: their rows are the same, and so is their id.
        del keys["expire"]["tables"]
    # Which facts count as deleted decides which have entries.
    keys["deletes.when"] = source.deleted_when
    if source.events != Events():
        keys["events"] = asdict(source.events)
    return keys


def physical_digests(index: Index, source: Source) -> dict[str, str]:
    """The same, each as a digest: enough to see which of them differ, without the values that keys may have in them."""
    return {key: _digest(value)[:_DIGEST_DIGITS] for key, value in physical_keys(index, source).items()}


def generation_id(index: Index, source: Source) -> str:
    """The id of the generation that this definition is: 16 hex digits."""
    return _digest([CODEC_VERSION, physical_keys(index, source)])[:_ID_DIGITS]


def table_name(index: Index, generation: str, attempt: int = 1) -> str:
    """The table of a generation: letters and digits, 3 to 63, with room for what its periods add.

    The id, which the index's name is part of, keeps names apart. A generation that comes back after its
    table was retired is another `attempt`: names are never reused, since Azure frees a deleted table's name
    late.
    """
    again = f"r{attempt}" if attempt > 1 else ""
    suffix = generation + again
    has_periods = index.expire is not None and index.expire.tables is not None
    room = _TABLE_NAME_MAX - len(suffix) - (_PERIOD_MAX if has_periods else 0)
    return re.sub(r"[^a-z0-9]", "", index.name.lower())[:room] + suffix


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
