"""How to begin with a fact that is not in the cache: insert its ledger row at once, or read first.

An insert that succeeds saves the read; an insert that fails costs a request. The share of recent facts that had a row
decides.
"""

from __future__ import annotations

from typing import Final

_RECENT: Final = 1000
# A failed insert of one fact costs about what half the saved reads are worth.
_EXISTING_SHARE_MAX: Final = 1 / 3
# Every failed insert of a transaction is one more round trip.
_FAILURES_MAX: Final = 2


class InsertOrRead:
    """Remembers how many recent facts had a ledger row."""

    def __init__(self) -> None:
        self._seen = 0
        self._existing = 0

    @property
    def is_insert(self) -> bool:
        """True while inserting at once is probably cheaper."""
        return self._existing <= self._seen * _EXISTING_SHARE_MAX

    def reads_rest(self, absent: int, left: int) -> bool:
        """An insert failed behind `absent` others of its transaction: whether to read the `left` others, too, because
        so many of them will fail that inserting again costs more round trips than it saves reads."""
        share = (self._existing + 1) / (self._seen + absent + 2)
        return left * share >= _FAILURES_MAX

    def observe(self, *, existing: int, absent: int) -> None:
        """Count facts that turned out to have a ledger row, and facts that have none."""
        self._existing += existing
        self._seen += existing + absent
        while self._seen > _RECENT:
            self._seen //= 2
            self._existing //= 2
