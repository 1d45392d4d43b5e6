"""Entry rows: what the pipeline writes and lookups read.

A row is live (it has the entry's columns) or a tombstone (it says that the entry is gone, as of its version). Of the
rows that share PartitionKey and entry key the newest comes first, and only that one counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.entries.keys.index_keys import row_key
from shared.entries.rows.columns import EXPIRES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.entries.rows.columns import Columns

GONE: Final = "_gone"


def live_row(partition_key: str, entry_key: str, version: str, columns: Columns) -> dict[str, Any]:
    """The row of an entry that last changed at `version`."""
    return {"PartitionKey": partition_key, "RowKey": row_key(entry_key, version), **columns}


def tombstone_row(partition_key: str, entry_key: str, version: str) -> dict[str, Any]:
    """The row that hides every older row of its entry key."""
    return {"PartitionKey": partition_key, "RowKey": row_key(entry_key, version), GONE: True}


def is_tombstone(row: Mapping[str, object]) -> bool:
    """Whether the row says that the entry is gone."""
    return row.get(GONE) is True


def is_expired(row: Mapping[str, object], now_seconds: float) -> bool:
    """Whether the entry's time is over. Its row may stay a while; lookups leave it out."""
    expires = row.get(EXPIRES)
    return isinstance(expires, int) and expires <= now_seconds
