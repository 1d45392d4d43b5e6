"""Ledger rows that this worker has seen, with their ETags and the shares whose writes are finished.

A cached row saves a read. It may be outdated: a claim that is based on it carries its ETag, and fails then. When the
cache is full, it drops the row that was not used for the longest time.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.pipeline.ledger.rows import LedgerRow

if TYPE_CHECKING:
    from shared.pipeline.ledger.shares import ShareKey

# A row with one entry takes about a kilobyte: this limits the cache to about 50 MB.
WEIGHT_MAX: Final = 50_000


@dataclass(frozen=True, slots=True)
class KnownRow:
    """What this worker knows of a ledger row: its content, its ETag (None: there is no row), and the shares whose
    writes are finished. A cached row may be outdated; the ETag of a claim detects that."""

    row: LedgerRow
    etag: str | None
    finished: frozenset[ShareKey] = frozenset()
    is_cached: bool = False


ABSENT: Final = KnownRow(LedgerRow(), None)


class LedgerCache:
    """Rows by ledger partition and fact key. The limit counts rows and their entries."""

    def __init__(self, weight_max: int = WEIGHT_MAX) -> None:
        self._rows: OrderedDict[tuple[str, str], KnownRow] = OrderedDict()
        self._weight = 0
        self._weight_max = weight_max

    def get(self, key: tuple[str, str]) -> KnownRow | None:
        """What is known of a row, or None."""
        known = self._rows.get(key)
        if known is not None:
            self._rows.move_to_end(key)
        return known

    def put(self, key: tuple[str, str], known: KnownRow) -> None:
        """Remember this about a row."""
        self.forget(key)
        self._rows[key] = KnownRow(known.row, known.etag, known.finished, is_cached=True)
        self._weight += _weight(known)
        while self._weight > self._weight_max:
            _, oldest = self._rows.popitem(last=False)
            self._weight -= _weight(oldest)

    def forget(self, key: tuple[str, str]) -> None:
        """Forget a row."""
        known = self._rows.pop(key, None)
        if known is not None:
            self._weight -= _weight(known)

    def clear(self) -> None:
        """Forget all rows."""
        self._rows.clear()
        self._weight = 0

    def mark_finished(self, key: tuple[str, str], etag: str, finished: frozenset[ShareKey]) -> None:
        """The writes of these shares are finished, if the cached row has this ETag. Otherwise nothing changes."""
        known = self._rows.get(key)
        if known is not None and known.etag == etag:
            self._rows[key] = KnownRow(known.row, known.etag, known.finished | finished, is_cached=True)


def _weight(known: KnownRow) -> int:
    return 1 + sum([len(state.current) + len(state.removed) for state in known.row.states.values()])
