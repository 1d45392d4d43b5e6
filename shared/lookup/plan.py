"""The plan of a lookup: which rows answer it, or why no plan without a scan exists. Pure.

A plan needs equality on every partition part, then equality on leading sort parts and at most one range on the next
one: that is one stretch of one partition (of each shard and period), which the Table service reads without looking at
more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from shared.entries.keys.limits import cut_to_fit
from shared.entries.keys.periods import period_of
from shared.errors import BadLookupError
from shared.inputs.faults import fault
from shared.lookup.conditions import Condition, read_conditions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.definitions.model import Index, PartValue
    from shared.entries.keys.bounds import Bounds
    from shared.entries.keys.index_keys import IndexKeys
    from shared.errors import Fault

Access: TypeAlias = Literal["point", "range", "partition", "fan-out"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The rows to read: a range of RowKeys in one PartitionKey per shard and period."""

    access: Access
    partition_keys: tuple[str, ...]
    # Of each partition key, by the name of its connection.
    accounts: tuple[str, ...]
    whole_partition: str
    bounds: Bounds
    # Nothing can lie within the bounds.
    is_empty: bool
    # Keys may have been cut, so that rows must be compared by their stored values; the partition, or anything.
    compares_partition: bool
    compares_stored_values: bool
    # Of each partition key; none when all of them are in the generation's own table.
    starts: tuple[str, ...] = ()

    @property
    def tables(self) -> int:
        """How many tables are read."""
        return len(set(self.starts)) or 1

    @property
    def transactions_per_page(self) -> int:
        """Storage transactions for one page."""
        return 0 if self.is_empty else len(self.partition_keys)


def plan(index: Index, keys: IndexKeys, parameters: Mapping[str, str]) -> Plan:
    """The plan for these parameters; raises `BadLookupError` with all faults of their conditions."""
    conditions = read_conditions(index, parameters)
    given = conditions.by_part
    faults = [*conditions.faults, *_partition_faults(index, given), *_sort_faults(index, given)]
    if faults:
        raise BadLookupError(*faults)
    partition = [given[part.name].value for part in index.partition]
    leading: list[PartValue | None] = []
    for part in index.sort:
        if part.name not in given or not given[part.name].is_equality:
            break
        leading.append(given[part.name].value)
    rest = index.sort[len(leading) :]
    comparisons = given[rest[0].name].comparisons if rest and rest[0].name in given else ()
    whole = keys.whole_partition(partition)
    encoded = cut_to_fit(whole, keys.shards.partition_units)
    partition_keys = keys.shards.partition_keys(encoded)
    accounts = tuple(map(keys.accounts.account_of, partition_keys))
    bounds = keys.bounds(leading, comparisons)
    return Plan(
        partition_keys=partition_keys,
        accounts=accounts,
        whole_partition=whole,
        bounds=bounds,
        is_empty=bounds.is_empty,
        compares_partition=encoded != whole,
        compares_stored_values=encoded != whole or bounds.is_widened,
        access=_access(len(partition_keys), is_whole=not rest, has_sort=bool(leading or comparisons)),
    )


def in_periods(planned: Plan, keys: IndexKeys, starts: Sequence[str]) -> Plan:
    """The plan of an index with tables per period, over these periods."""
    partition = keys.shards.split(planned.partition_keys[0])[1]
    partition_keys = keys.shards.partition_keys(partition, starts)
    return replace(
        planned,
        access="fan-out" if len(partition_keys) > 1 else planned.access,
        partition_keys=partition_keys,
        accounts=tuple(map(keys.accounts.account_of, partition_keys)),
        starts=tuple(map(period_of, partition_keys)),
    )


def _access(shards: int, *, is_whole: bool, has_sort: bool) -> Access:
    if shards > 1:
        return "fan-out"
    if has_sort and is_whole:
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
