"""What is wrong with a fact's entries. Pure: decided from what was examined.

    missing     the ledger has an entry whose row is not there, or is hidden
    stale       its row is there with other columns
    ghost       a row is shown that the ledger does not have
    unapplied   the fact's entries are not those that the ledger has, and no change is on its way
    orphan      the fact is gone from its container, and its entries are not

A change that was written a moment ago and has not been applied yet is lag, not a difference. What waits for a storage
account that was down is none either: it arrives by itself, unless the fact is gone. A fact that does not fit
the index has a dead letter, which says more than a difference could.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from shared.entries.keys.versions import is_clock_before

if TYPE_CHECKING:
    from shared.entries.projection.projector import Entry
    from shared.pipeline.ledger.rows import CurrentEntry
    from shared.verification.examine import EntryAddress, Examined, SeenRow

DifferenceKind = Literal["missing", "stale", "ghost", "unapplied", "orphan"]
KINDS: Final[tuple[DifferenceKind, ...]] = ("missing", "stale", "ghost", "unapplied", "orphan")
Standing = Literal["applied", "failed", "behind", "owing", "unapplied", "gone", "unknown"]


class Difference(NamedTuple):
    """One difference; about an entry, or without an address about the whole fact."""

    kind: DifferenceKind
    address: EntryAddress | None = None
    version: str = ""


@dataclass(frozen=True, slots=True)
class Differences:
    """The differences of a fact, how it stands in the ledger, and rows that are hidden and have no use."""

    found: tuple[Difference, ...]
    standing: Standing
    masked: tuple[tuple[EntryAddress, SeenRow], ...] = field(default=())


def differences_of(examined: Examined, recent_after_seconds: float) -> Differences:
    """Everything that is wrong. A change written after `recent_after_seconds` may still be on its way."""
    standing = _standing(examined, recent_after_seconds)
    if standing == "owing":
        return Differences((), standing)
    found: list[Difference] = []
    if standing == "unapplied":
        found.append(Difference("unapplied"))
    if standing == "gone":
        found.append(Difference("orphan"))
    else:
        found += _wrong_entries(examined)
    found += _ghosts(examined)
    return Differences(tuple(found), standing, tuple(_masked(examined)))


def _standing(examined: Examined, recent_after_seconds: float) -> Standing:
    state = examined.state
    if not examined.is_read:
        return "unknown"
    if examined.document is None:
        return "gone" if state is not None and state.current else "applied"
    if state is not None and state.owed:
        return "owing"
    if same_entries(examined) is not None:
        return "applied"
    if not examined.projections and (state is None or not state.current):
        return "failed"
    if state is not None and state.failed and examined.is_ledger_version:
        return "failed"
    return "behind" if _may_come(examined, recent_after_seconds) else "unapplied"


def same_entries(examined: Examined) -> tuple[Entry, ...] | None:
    """The entries of the document that are those of the ledger; None when they differ."""
    if examined.state is not None and examined.state.failed:
        return None
    current = {
        (entry.partition, entry.entry_key, entry.digest)
        for entry in examined.ledger_entries
        if (entry.partition, entry.entry_key) not in examined.expired
    }
    for entries in examined.projections:
        if {(entry.partition_key, entry.entry_key, entry.digest) for entry in entries} == current:
            return entries
    return None


def _may_come(examined: Examined, recent_after_seconds: float) -> bool:
    """Whether the change is so young that it may be on its way, and not older than what the ledger has."""
    seconds = None if examined.document is None else examined.document.get("_ts")
    if examined.is_current or is_older(examined):
        return False
    return type(seconds) is int and seconds > recent_after_seconds


def is_older(examined: Examined) -> bool:
    """Whether the document looks older than the ledger's version, so that the feed's change was or will be dropped."""
    clock, newest = examined.clock, examined.newest
    return clock is not None and newest is not None and is_clock_before(clock, newest)


def _wrong_entries(examined: Examined) -> list[Difference]:
    found: list[Difference] = []
    for entry in examined.ledger_entries:
        address = entry.partition, entry.entry_key
        kind = row_fault(entry, examined.rows_by_address.get(address, ()))
        if kind is not None and address not in examined.expired:
            found.append(Difference(kind, address, entry.version))
    return found


def row_fault(entry: CurrentEntry, rows: tuple[SeenRow, ...]) -> DifferenceKind | None:
    """What is wrong with the row of an entry."""
    if not rows or rows[0].version != entry.version or rows[0].is_tombstone:
        return "missing"
    return None if rows[0].digest == entry.digest else "stale"


def _ghosts(examined: Examined) -> list[Difference]:
    current = {(entry.partition, entry.entry_key) for entry in examined.ledger_entries}
    return [
        Difference("ghost", address, rows[0].version)
        for address, rows in examined.rows_by_address.items()
        if address not in current and rows and rows[0].is_shown
    ]


def _masked(examined: Examined) -> list[tuple[EntryAddress, SeenRow]]:
    """Older rows below the right one. Below a tombstone they go with it."""
    versions = {(entry.partition, entry.entry_key): entry.version for entry in examined.ledger_entries}
    return [
        (address, row)
        for address, rows in examined.rows_by_address.items()
        if rows and address in versions and rows[0].version == versions[address]
        for row in rows[1:]
    ]
