"""Checks of where entries are put: hot partitions, placement over storage accounts, tables per period."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.definitions.model import SHARDS_MAX
from shared.definitions.utf16 import utf16_length
from shared.definitions.values import folded, sort_rank

if TYPE_CHECKING:
    from shared.definitions.loading.findings import Findings, KeyPath
    from shared.definitions.model import Index, KeyPart, PartValue, PeriodLength, Placement, RangeSlice

# A key is cut at some 470 units, and a unit of a value may take four of them: up to here maps are exact.
_PLACED_UNITS_MAX: Final = 100
# A lookup reads the tables of all open periods at once, for every shard: it sends no more requests than a lookup in an
# index without periods may.
_TABLES_MAX: Final = 32
_REQUESTS_MAX: Final = SHARDS_MAX
_DAY_SECONDS: Final = 86_400
_SHORTEST_DAYS: Final[dict[PeriodLength, int]] = {"day": 1, "week": 7, "month": 28}


def check_layout(index: Index, findings: Findings) -> None:
    """Check `hot` and `placement` of one index."""
    at: KeyPath = ("indexes", index.name)
    if not index.partition:
        return
    if index.hot:
        _check_hot((*at, "hot"), index, findings)
    if index.placement is not None:
        _PlacementCheck((*at, "placement"), index.placement, index.partition[0], findings).run()


def _check_hot(at: KeyPath, index: Index, findings: Findings) -> None:
    if len(index.partition) > 1:
        fix = 'Take "hot" out and use "shards", or make the partition one part.'
        findings.fault(at, '"hot" names values of one part, and the partition has several', fix)
        return
    seen: set[PartValue] = set()
    for value, _ in index.hot:
        same = _comparable(value, index.partition[0])
        if same in seen:
            findings.fault(at, f"{value!r} is listed twice, in another spelling", "Keep one of the two.")
        seen.add(same)


def tables_at_once(length: PeriodLength, after_seconds: int) -> int:
    """How many periods there are at most from now to the time that a new entry expires, and one ahead."""
    return -(-after_seconds // (_SHORTEST_DAYS[length] * _DAY_SECONDS)) + 2


def check_periods(index: Index, findings: Findings) -> None:
    """Check `expire.tables` of an index."""
    expire = index.expire
    if expire is None or expire.tables is None:
        return
    at = ("indexes", index.name, "expire", "tables")
    shards = max([index.shards, *(count for _, count in index.hot)])
    if expire.after_seconds < _SHORTEST_DAYS[expire.tables] * _DAY_SECONDS:
        what = f"entries would stay for up to a {expire.tables}, longer than they live"
        findings.fault(at, what, 'Take "tables" out, use shorter periods, or a longer "after".')
    elif (count := tables_at_once(expire.tables, expire.after_seconds)) > _TABLES_MAX:
        what = f"a lookup would read {count} tables at once, over the limit of {_TABLES_MAX}"
        findings.fault(at, what, 'Use longer periods or a shorter "after", or take "tables" out.')
    elif (requests := (count + 1) * shards) > _REQUESTS_MAX:
        what = f"a lookup would send {requests} requests at once, for {count + 1} tables and {shards} shards"
        findings.fault(at, what, f"Use longer periods or fewer shards: {_REQUESTS_MAX} are allowed.")


def _comparable(value: PartValue, part: KeyPart) -> PartValue:
    return folded(value) if part.fold and isinstance(value, str) else value


class _PlacementCheck:
    """Checks one placement by the rules of its kind."""

    def __init__(self, at: KeyPath, placement: Placement, part: KeyPart, findings: Findings) -> None:
        self._at = at
        self._placement = placement
        self._part = part
        self._findings = findings

    def run(self) -> None:
        {"hash": self._check_hash, "list": self._check_list, "range": self._check_range}[self._placement.by]()

    def _fault(self, key: str, what: str, fix: str) -> None:
        self._findings.fault((*self._at, key), what, fix)

    def _check_hash(self) -> None:
        placement = self._placement
        if not placement.accounts:
            self._fault("accounts", '"by: hash" has no "accounts"', "List the connections of the accounts.")
        if len(set(placement.accounts)) < len(placement.accounts):
            self._fault("accounts", "an account is listed twice", "List each account once.")
        if placement.values or placement.slices or placement.default:
            self._fault("map", '"by: hash" takes only "accounts"', 'Take "map" and "default" out.')

    def _check_list(self) -> None:
        placement = self._placement
        if placement.accounts or placement.slices or not placement.values:
            self._fault("map", '"by: list" takes a map of values', 'Write "map: {Redmond: INDEX_1}" and a "default".')
        if placement.default is None:
            fix = "Name the account of every value that the map does not name."
            self._fault("default", '"by: list" has no "default"', fix)
        seen: set[PartValue] = set()
        for value, _ in placement.values:
            at = (*self._at, "map", str(value))
            if (same := _comparable(value, self._part)) in seen:
                self._findings.fault(at, f"{value!r} is listed twice, in another spelling", "Keep one of the two.")
            seen.add(same)
            self._check_length(at, value)

    def _check_range(self) -> None:
        placement = self._placement
        if placement.accounts or placement.values or placement.default or not placement.slices:
            fix = 'Write "map: [{to: m, account: INDEX_1}, {from: m, account: INDEX_2}]" and nothing else.'
            self._fault("map", '"by: range" takes a list of slices', fix)
            return
        if placement.slices[0].start is not None:
            self._fault("map", "nothing says where the lowest values go", 'Leave "from" out of the first slice.')
        if placement.slices[-1].end is not None:
            self._fault("map", "nothing says where the highest values go", 'Leave "to" out of the last slice.')
        for number, (left, right) in enumerate(zip(placement.slices, placement.slices[1:], strict=False)):
            self._check_seam(number + 1, left, right)
        for number, range_slice in enumerate(placement.slices):
            if range_slice.start is not None:
                self._check_length((*self._at, "map", number, "from"), range_slice.start)

    def _check_seam(self, number: int, left: RangeSlice, right: RangeSlice) -> None:
        """Each slice begins where the one before it ends, and slices go upwards."""
        at = (*self._at, "map", number)
        if left.end is None or right.start is None:
            self._findings.fault(
                at, "two slices overlap: one has no upper end", 'Write where they meet as "to" and as "from".'
            )
            return
        end, start = self._rank(left.end), self._rank(right.start)
        if end != start:
            word = "a gap" if end < start else "an overlap"
            fix = "Let each slice begin where the one before it ends, lowest first."
            self._findings.fault(at, f"there is {word} between {left.end!r} and {right.start!r}", fix)
        elif right.end is not None and not start < self._rank(right.end):
            self._findings.fault(at, "the slice is empty, or its ends are swapped", 'Let "from" be lower than "to".')

    def _check_length(self, at: KeyPath, value: PartValue) -> None:
        if utf16_length(str(_comparable(value, self._part))) > _PLACED_UNITS_MAX:
            fix = f'Use values of at most {_PLACED_UNITS_MAX} characters, or place "by: hash".'
            self._findings.fault(at, "the value is too long to be placed by", fix)

    def _rank(self, value: PartValue) -> Any:
        return sort_rank(self._part.type, _comparable(value, self._part))
