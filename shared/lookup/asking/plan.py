"""The plan of a lookup: which rows answer it, or why no plan without a scan exists. Pure.

A plan needs equality on every partition part, then equality on leading sort parts and at most one range on the next
one: that is one stretch of one partition (of each shard and period), which the Table service reads without looking at
more. Equality with one of several values makes several of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product, takewhile
from math import prod
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from shared.definitions.utf16 import utf16_order
from shared.entries.keys.periods import UNDATED, period_of
from shared.errors import BadLookupError
from shared.inputs.faults import fault
from shared.lookup.asking.conditions import Condition, read_conditions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.definitions.model import Index, KeyPart
    from shared.entries.keys.bounds import Bounds
    from shared.entries.keys.index_keys import IndexKeys
    from shared.errors import Fault

Access: TypeAlias = Literal["point", "range", "partition", "fan-out"]


# A lookup merges so many ranges of so many partitions: two towns, and forty ids in each.
COMBINATIONS_MAX: Final = 100
# With shards and periods, which multiply them: half a minute of patience for a call would not do for more.
READS_MAX: Final = 2000


@dataclass(frozen=True, slots=True)
class Plan:
    """The rows to read: ranges of RowKeys in the PartitionKeys of one or several partitions, per shard and period."""

    access: Access
    # The encoded partitions, however long, in their order.
    partitions: tuple[str, ...]
    partition_keys: tuple[str, ...]
    # Of each partition key: which of the partitions it is of, and its account, by the name of its connection.
    numbers: tuple[int, ...]
    accounts: tuple[str, ...]
    # What was asked for of the sort parts, and the ranges of RowKeys that hold it: in order, none overlaps another.
    bounds: tuple[Bounds, ...]
    row_ranges: tuple[tuple[str, str], ...]
    sort_parts: int
    # Keys may have been cut, so that rows must be compared by their stored values; the partition, or anything.
    compares_partition: bool
    compares_stored_values: bool
    # Of each partition key; none when all of them are in the generation's own table.
    starts: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing can lie within the bounds."""
        return not self.row_ranges

    @property
    def tables(self) -> int:
        """How many tables are read."""
        return len(set(self.starts)) or 1

    @property
    def reads(self) -> int:
        """How many ranges are read at once."""
        return len(self.partition_keys) * len(self.row_ranges)


def plan(index: Index, keys: IndexKeys, parameters: Mapping[str, str]) -> Plan:
    """The plan for these parameters; raises `BadLookupError` with all faults of their conditions."""
    conditions = read_conditions(index, parameters)
    given = conditions.by_part
    faults = [*conditions.faults, *_partition_faults(index, given), *_sort_faults(index, given)]
    if faults:
        raise BadLookupError(*faults)
    leading = [
        part.name for part in takewhile(lambda part: part.name in given and given[part.name].is_equality, index.sort)
    ]
    rest = index.sort[len(leading) :]
    comparisons = given[rest[0].name].comparisons if rest and rest[0].name in given else ()
    by_partition = [given[part.name].values for part in index.partition]
    by_sort = [given[name].values for name in leading]
    _check_combinations([*by_partition, *by_sort])
    partitions = sorted(set(map(keys.whole_partition, product(*by_partition))), key=utf16_order)
    all_bounds = list(map(partial(keys.bounds, comparisons=comparisons), product(*by_sort)))
    located = keys.located(partitions, (UNDATED,))
    bounds = [each for each in all_bounds if not each.is_empty]
    row_ranges = tuple(_without_overlaps(bounds))
    access = _access(rest, has_sort=bool(leading or comparisons))
    return Plan(
        access=_checked_access(access, len(located.partition_keys) * len(row_ranges)),
        partitions=tuple(partitions),
        partition_keys=located.partition_keys,
        numbers=located.numbers,
        accounts=located.accounts,
        bounds=tuple(bounds),
        row_ranges=row_ranges,
        sort_parts=len(index.sort),
        compares_partition=located.is_cut,
        compares_stored_values=located.is_cut or any(each.is_widened for each in bounds),
    )


def in_periods(planned: Plan, keys: IndexKeys, starts: Sequence[str]) -> Plan:
    """The plan of an index with tables per period, over these periods."""
    located = keys.located(planned.partitions, starts)
    return replace(
        planned,
        access=_checked_access(planned.access, len(located.partition_keys) * len(planned.row_ranges)),
        partition_keys=located.partition_keys,
        numbers=located.numbers,
        accounts=located.accounts,
        starts=tuple(map(period_of, located.partition_keys)),
    )


def _checked_access(access: Access, reads: int) -> Access:
    """The access of a lookup that reads so many ranges; raises `BadLookupError` when they are too many."""
    check_reads(reads)
    return "fan-out" if reads > 1 else access


def check_reads(reads: int) -> None:
    """Refuse what reads too much at once."""
    if reads > READS_MAX:
        detail = (
            f"This reads {reads} ranges of keys at once, with all shards and periods; at most {READS_MAX}: "
            "ask for fewer values at once."
        )
        raise BadLookupError(fault("TooCostly", "", detail))


def _without_overlaps(bounds: Sequence[Bounds]) -> list[tuple[str, str]]:
    """Ranges of RowKeys that hold all of the bounds. Those of values that are cut alike lie upon each other."""
    found: list[tuple[str, str]] = []
    for lower, upper in sorted([(each.lower, each.upper) for each in bounds], key=lambda ends: utf16_order(ends[0])):
        if found and utf16_order(lower) < utf16_order(found[-1][1]):
            found[-1] = (found[-1][0], max(found[-1][1], upper, key=utf16_order))
        else:
            found.append((lower, upper))
    return found


def _check_combinations(values: Sequence[Sequence[object]]) -> None:
    combinations = prod(map(len, values))
    if combinations > COMBINATIONS_MAX:
        detail = (
            f"The lists of this lookup have {combinations} combinations; at most {COMBINATIONS_MAX}: "
            "ask for fewer values at once."
        )
        raise BadLookupError(fault("TooCostly", "", detail))


def _access(rest: Sequence[KeyPart], *, has_sort: bool) -> Access:
    if has_sort and not rest:
        return "point"
    return "range" if has_sort else "partition"


def _partition_faults(index: Index, given: Mapping[str, Condition]) -> list[Fault]:
    faults = []
    names = ", ".join(part.name for part in index.partition)
    for part in index.partition:
        condition = given.get(part.name)
        if condition is None:
            detail = f'Index "{index.name}" is looked up by {names}: add {part.name}=VALUE. Tables are never scanned.'
            faults.append(fault("MissingPartitionPart", part.name, detail))
        elif not condition.is_equality:
            detail = f"{part.name} is part of the partition, which takes no range: say {part.name}=VALUE."
            faults.append(fault("RangeOnPartition", part.name, detail))
    return faults


def _sort_faults(index: Index, given: Mapping[str, Condition]) -> list[Fault]:
    """Whatever follows a range or a part that is left out."""
    faults = []
    ranged = skipped = ""
    for part in index.sort:
        condition = given.get(part.name)
        if condition is None:
            skipped = skipped or part.name
        elif ranged and not condition.is_equality:
            detail = (
                f"{ranged} and {part.name} both have a range; keep one, and say {ranged}=VALUE if it is the second."
            )
            faults.append(fault("TwoRanges", part.name, detail))
        elif ranged:
            detail = (
                f"{part.name} comes after {ranged}, which has a range; say {ranged}=VALUE or leave {part.name} out."
            )
            faults.append(fault("RangeBeforeEquality", part.name, detail))
        elif skipped:
            detail = (
                f"{part.name} comes after {skipped} in the sort key; add {skipped}=VALUE, or leave {part.name} out."
            )
            faults.append(fault("SortPartSkipped", part.name, detail))
        elif not condition.is_equality:
            ranged = part.name
    return faults
