"""Ledger rows that this worker has seen, with their ETags and what it knows to be finished; the oldest go first.

A cached row saves a read. It may be outdated: a claim made on it carries its ETag.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from shared.pipeline.ledger.rows import LedgerRow

# A row with one entry takes about a kilobyte: this is some 50 MB at most.
WEIGHT_MAX: Final = 50_000


@dataclass(frozen=True, slots=True)
class KnownRow:
    """What this worker knows of a ledger row: its content and ETag (none: there is no row), and which generations'
    writes are finished. A cached one may be outdated; the ETag of a claim finds that out."""

    row: LedgerRow
    etag: str | None
    finished: frozenset[str] = frozenset()
    is_cached: bool = False


ABSENT: Final = KnownRow(LedgerRow(), None)


class LedgerCache:
    """A bounded number of rows, counted with their entries, by ledger partition and fact key."""

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
        """Know this of a row from now on."""
        self.forget(key)
        self._rows[key] = KnownRow(known.row, known.etag, known.finished, is_cached=True)
        self._weight += _weight(known)
        while self._weight > self._weight_max:
            _, oldest = self._rows.popitem(last=False)
            self._weight -= _weight(oldest)

    def forget(self, key: tuple[str, str]) -> None:
        """Know nothing of a row."""
        known = self._rows.pop(key, None)
        if known is not None:
            self._weight -= _weight(known)

    def clear(self) -> None:
        """Know nothing of any row."""
        self._rows.clear()
        self._weight = 0

    def mark_finished(self, key: tuple[str, str], etag: str, finished: frozenset[str]) -> None:
        """These parts' writes are finished for the row with this ETag. Of any other it says nothing."""
        known = self._rows.get(key)
        if known is not None and known.etag == etag:
            self._rows[key] = KnownRow(known.row, known.etag, known.finished | finished, is_cached=True)


def _weight(known: KnownRow) -> int:
    return 1 + sum([len(state.current) + len(state.removed) for state in known.row.states.values()])
