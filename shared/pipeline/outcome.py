"""What became of a batch of changes, in numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Outcome:
    """Counts of one batch. `redelivered` changes were claimed before; `dropped` ones are older than the ledger's."""

    received: int = 0
    coalesced: int = 0
    applied: int = 0
    unchanged: int = 0
    redelivered: int = 0
    dropped: int = 0
    # Older by clock, but written later: a clock of the source may have gone back.
    dropped_with_higher_lsn: int = 0
    entries_written: int = 0
    entries_removed: int = 0
    dead_letters: int = 0
    transactions: int = 0
