"""How to begin with a fact that is not in the cache: insert its ledger row at once, or read first.

An insert that succeeds saves the read; an insert that fails costs a request. The share of recent facts that had a row
decides.
"""

from __future__ import annotations

from typing import Final

_RECENT: Final = 1000
# A failed insert of one fact costs about what half the saved reads are worth.
_EXISTING_SHARE_MAX: Final = 1 / 3


class InsertOrRead:
    """Remembers how many recent facts had a ledger row."""

    def __init__(self) -> None:
        self._seen = 0
        self._existing = 0

    @property
    def is_insert(self) -> bool:
        """True while inserting at once is probably cheaper."""
        return self._existing <= self._seen * _EXISTING_SHARE_MAX

    def observe(self, *, existing: int, absent: int) -> None:
        """Count facts that turned out to have a ledger row, and facts that have none."""
        self._existing += existing
        self._seen += existing + absent
        while self._seen > _RECENT:
            self._seen //= 2
            self._existing //= 2
