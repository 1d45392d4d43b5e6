"""What is wrong with a fact's entries. Pure: decided from what was examined.

    missing     the ledger has an entry whose row is not there, or is hidden
    stale       its row is there with other columns
    ghost       a row is shown that the ledger does not have
    unapplied   the fact's entries are not those that the ledger has, and no change is on its way
    orphan      the fact is gone from its container, and its entries are not

A change that was written a moment ago and has not been applied yet is lag, not a difference. A fact that does not fit
the index has a dead letter, which says more than a difference could.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from shared.entries.projection.projector import Entry
    from shared.pipeline.ledger.rows import Live
    from shared.verification.examine import Examined, Key, SeenRow

Kind = Literal["missing", "stale", "ghost", "unapplied", "orphan"]
KINDS: Final[tuple[Kind, ...]] = ("missing", "stale", "ghost", "unapplied", "orphan")
Standing = Literal["applied", "failed", "behind", "unapplied", "gone", "unknown"]


class Finding(NamedTuple):
    """One difference; about an entry, or with no key about the whole fact."""

    kind: Kind
    key: Key | None = None
    at: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """The differences of a fact, how it stands in the ledger, and rows that are hidden and have no use."""

    differences: tuple[Finding, ...]
    standing: Standing
    masked: tuple[tuple[Key, SeenRow], ...] = field(default=())


def findings_of(examined: Examined, recent_after_seconds: float) -> Findings:
    """Everything that is wrong. A change written after `recent_after_seconds` may still be on its way."""
    standing = _standing(examined, recent_after_seconds)
    found: list[Finding] = []
    if standing == "unapplied":
        found.append(Finding("unapplied"))
    if standing == "gone":
        found.append(Finding("orphan"))
    else:
        found += _entry_findings(examined)
    found += _ghosts(examined)
    return Findings(tuple(found), standing, tuple(_masked(examined)))


def _standing(examined: Examined, recent_after_seconds: float) -> Standing:
    part = examined.part
    if not examined.is_read:
        return "unknown"
    if examined.document is None:
        return "gone" if part is not None and part.live else "applied"
    if matching(examined) is not None:
        return "applied"
    if not examined.projections and (part is None or not part.live):
        return "failed"
    if part is not None and part.failed and examined.is_marked:
        return "failed"
    return "behind" if _may_come(examined, recent_after_seconds) else "unapplied"


def matching(examined: Examined) -> tuple[Entry, ...] | None:
    """The entries of the document that are those of the ledger; None when they differ."""
    part = examined.part
    if part is not None and part.failed:
        return None
    live = {
        (entry.partition, entry.pair, entry.digest)
        for entry in (() if part is None else part.live)
        if (entry.partition, entry.pair) not in examined.expired
    }
    for entries in examined.projections:
        if {(entry.partition_key, entry.pair, entry.digest) for entry in entries} == live:
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
    return clock is not None and newest is not None and clock < newest[: len(clock)]


def _entry_findings(examined: Examined) -> list[Finding]:
    found: list[Finding] = []
    for live in examined.part.live if examined.part is not None else ():
        kind = row_fault(live, examined.pairs.get((live.partition, live.pair), ()))
        if kind is not None and (live.partition, live.pair) not in examined.expired:
            found.append(Finding(kind, (live.partition, live.pair), live.at))
    return found


def row_fault(live: Live, rows: tuple[SeenRow, ...]) -> Kind | None:
    """What is wrong with the row of an entry."""
    if not rows or rows[0].at != live.at or rows[0].is_tombstone:
        return "missing"
    return None if rows[0].digest == live.digest else "stale"


def _ghosts(examined: Examined) -> list[Finding]:
    live = _live_keys(examined)
    return [
        Finding("ghost", key, rows[0].at)
        for key, rows in examined.pairs.items()
        if key not in live and rows and rows[0].is_shown
    ]


def _masked(examined: Examined) -> list[tuple[Key, SeenRow]]:
    """Older rows below the right one. Below a tombstone they go with it."""
    at = {} if examined.part is None else {(live.partition, live.pair): live.at for live in examined.part.live}
    return [
        (key, row)
        for key, rows in examined.pairs.items()
        if rows and key in at and rows[0].at == at[key]
        for row in rows[1:]
    ]


def _live_keys(examined: Examined) -> frozenset[Key]:
    part = examined.part
    return frozenset() if part is None else frozenset((live.partition, live.pair) for live in part.live)
