"""What became of a batch of changes, in numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, fields


@dataclass(slots=True)
class IndexOutcome:
    """Entries of one index, in all its generations, that a batch wrote and removed."""

    written: int = 0
    removed: int = 0


@dataclass(slots=True)
class BatchOutcome:
    """Counts of one batch. `redelivered` changes were claimed before; `dropped` ones are older than the ledger row."""

    received: int = 0
    coalesced: int = 0
    applied: int = 0
    unchanged: int = 0
    redelivered: int = 0
    dropped: int = 0
    # Older by clock, but written later: a clock at the source may have gone back.
    dropped_with_higher_lsn: int = 0
    entries_written: int = 0
    entries_removed: int = 0
    dead_letters: int = 0
    # Of these, so many are counted only: their index has as many open as it may.
    dead_letters_not_kept: int = 0
    # Events that are no change of the source; not among those received.
    ignored: int = 0
    # Facts that owe entries to an account that is down; in a delivery, those that still owe its account.
    owing: int = 0
    transactions: int = 0
    by_index: dict[str, IndexOutcome] = field(default_factory=dict)

    def count_entries(self, index: str, written: int, removed: int) -> None:
        """Add entries of one index."""
        self.entries_written += written
        self.entries_removed += removed
        entries = self.by_index.setdefault(index, IndexOutcome())
        entries.written += written
        entries.removed += removed

    def numbers(self) -> dict[str, int]:
        """The counts of the whole batch by their names."""
        return {count.name: getattr(self, count.name) for count in fields(self) if count.name != "by_index"}
