"""Partition key ranges: the slices of hash space that a container's documents are spread over.

Each range counts its own log sequence numbers, as a physical partition does. The children of a split go on
counting where their parent stopped, so a continuation taken from the parent is good for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import orjson

from local.emulators.cosmos.errors import RANGE_GONE, BadRequestError, GoneError

if TYPE_CHECKING:
    from local.emulators.cosmos.data.store import DocumentStore

# Hashes have 32 hexadecimal digits and keep their two highest bits free: hash space ends at 0x40…
_DIGITS = 32
_SPACE = 0x40 << (_DIGITS - 2) * 4
_LOWEST = ""
_HIGHEST = "FF"
_RANGE_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Range:
    """One live range: it holds the effective keys from `low` up to, not including, `high`."""

    number: int
    low: str
    high: str
    parents: tuple[int, ...]
    first_lsn: int

    def holds(self, effective_key: str) -> bool:
        return self.low <= effective_key < self.high

    def halves(self) -> tuple[str, str, str]:
        """Low, middle and high of the two ranges that a split makes."""
        low = int(self.low.ljust(_DIGITS, "0"), 16)
        high = _SPACE if self.high == _HIGHEST else int(self.high.ljust(_DIGITS, "0"), 16)
        return self.low, f"{(low + high) // 2:0{_DIGITS}X}", self.high


def even_bounds(count: int) -> list[tuple[str, str]]:
    """The bounds of `count` ranges that share hash space evenly."""
    cuts = [_LOWEST, *(f"{0x4000 * i // count:04X}" for i in range(1, count)), _HIGHEST]
    return list(pairwise(cuts))


def create_ranges(store: DocumentStore, container: int, count: int) -> None:
    """The first ranges of a new container."""
    store.execute_many(
        "INSERT INTO ranges (container, number, low, high, parents, first_lsn) VALUES (?, ?, ?, ?, '[]', 0)",
        [(container, number, low, high) for number, (low, high) in enumerate(even_bounds(count))],
    )


def live_ranges(store: DocumentStore, container: int) -> tuple[Range, ...]:
    """The ranges that were not split, in the order of their keys."""
    rows = store.execute(
        "SELECT number, low, high, parents, first_lsn FROM ranges WHERE container = ? AND NOT gone ORDER BY low",
        (container,),
    )
    return tuple(
        Range(number, low, high, tuple(orjson.loads(parents)), first) for number, low, high, parents, first in rows
    )


def find_range(ranges: tuple[Range, ...], text: str) -> Range:
    """The live range that a request names (`0`, or with the container's rid before it: `rid,0`)."""
    name = text.rpartition(",")[2].strip()
    if not name.isascii() or not name.isdigit() or len(name) > _RANGE_DIGITS:
        raise BadRequestError(f"{text!r} is not the id of a partition key range.")
    for candidate in ranges:
        if candidate.number == int(name):
            return candidate
    raise GoneError(f"Partition key range {name} is gone: read the ranges again.", RANGE_GONE)


def last_lsn(store: DocumentStore, container: int, found: Range) -> int:
    """The newest sequence number that a range has reached.

    It is read from what is stored, never counted in memory: a number that was handed out and then rolled back
    would make a reader skip the change that gets it next. A child may hold only early changes of its parent,
    and yet it counts on from the parent's last.
    """
    (lsn,) = store.execute(
        "SELECT max(lsn) FROM versions WHERE container = ? AND range = ?", (container, found.number)
    ).fetchone()
    return max(found.first_lsn, lsn or 0)


def split_range(store: DocumentStore, container: int, found: Range) -> tuple[int, int]:
    """Replace a range by two halves; returns the numbers of the children."""
    low, middle, high = found.halves()
    lsn = last_lsn(store, container, found)
    with store.transaction():
        (left,) = store.execute("SELECT max(number) + 1 FROM ranges WHERE container = ?", (container,)).fetchone()
        parents = orjson.dumps([*found.parents, found.number]).decode()
        store.execute("UPDATE ranges SET gone = 1 WHERE container = ? AND number = ?", (container, found.number))
        store.execute_many(
            "INSERT INTO ranges (container, number, low, high, parents, first_lsn) VALUES (?, ?, ?, ?, ?, ?)",
            [(container, left, low, middle, parents, lsn), (container, left + 1, middle, high, parents, lsn)],
        )
        _move(store, container, found.number, (left, middle))
    return left, left + 1


def _move(store: DocumentStore, container: int, parent: int, child: tuple[int, str]) -> None:
    """Give the parent's rows to its children: items first, because they find their hash in their version."""
    left, middle = child
    store.execute(
        "UPDATE items SET range = (SELECT CASE WHEN v.epk < ? THEN ? ELSE ? END FROM versions v"
        " WHERE v.container = items.container AND v.range = items.range AND v.lsn = items.lsn)"
        " WHERE container = ? AND range = ?",
        (middle, left, left + 1, container, parent),
    )
    store.execute(
        "UPDATE versions SET range = CASE WHEN epk < ? THEN ? ELSE ? END WHERE container = ? AND range = ?",
        (middle, left, left + 1, container, parent),
    )


def describe(found: Range, rid: str, link: str, siblings: int) -> dict[str, Any]:
    """A range as `pkranges` shows it."""
    return {
        "_rid": rid,
        "id": str(found.number),
        "minInclusive": found.low,
        "maxExclusive": found.high,
        "ridPrefix": found.number,
        "throughputFraction": 1 / siblings,
        "status": "online",
        "parents": [str(parent) for parent in found.parents],
        "_self": f"{link}pkranges/{rid}/",
    }
