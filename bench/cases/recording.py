"""What the pipeline would write, found out in memory: the rows of the raw yardstick, and exact counts by table."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from bench.cases.pipeline import BATCH, Pipeline
from shared.tables.limits import OPERATIONS_MAX
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Delete, Upsert, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.cases.facts import Fact
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store
    from shared.tables.port import Operation

T = TypeVar("T")
Transactions = list[tuple[str, list["Operation"]]]


class Recorder:
    """Remembers the last thing that was done to every row of an in-memory service."""

    def __init__(self) -> None:
        self._done: dict[tuple[str, str, str], Operation] = {}
        self._there_before: set[tuple[str, str, str]] = set()

    async def carry(self, call: Call[T], store: Store) -> T:
        """Perform the call, and remember it if that did not fail."""
        answer = call.perform(store)
        for operation in getattr(call, "operations", ()):
            partition, row = key_of(operation)
            self._remember((call.table, str(partition), str(row)), operation)
        return answer

    def _remember(self, key: tuple[str, str, str], operation: Operation) -> None:
        """Without conditions: nobody else writes. What came and went in between needs no writing at all."""
        if not isinstance(operation, Delete):
            self._done[key] = Upsert(operation.entity)
        elif key in self._there_before:
            self._done[key] = Delete(operation.partition, operation.row)
        else:
            self._done.pop(key, None)

    def take(self) -> Transactions:
        """Everything since the last call, in as few transactions as possible."""
        groups: dict[tuple[str, str], list[Operation]] = {}
        for (table, partition, _), operation in self._done.items():
            groups.setdefault((table, partition), []).append(operation)
        self._there_before |= {key for key, operation in self._done.items() if isinstance(operation, Upsert)}
        self._done = {}
        return [
            (table, operations[start : start + OPERATIONS_MAX])
            for (table, _), operations in groups.items()
            for start in range(0, len(operations), OPERATIONS_MAX)
        ]


async def recorded(
    yaml: str, before: Sequence[Fact], changes: Sequence[Fact], batch: int = BATCH
) -> tuple[Transactions, Transactions]:
    """What the pipeline writes for some changes, and before them for others."""
    recorder, pipeline, first = await _recorded_before(yaml, before)
    await pipeline.apply(changes, batch)
    return first, recorder.take()


async def recorded_in_batches(
    yaml: str, before: Sequence[Fact], changes: Sequence[Fact], batch: int
) -> tuple[Transactions, list[Transactions]]:
    """The same, for each batch by itself: no transaction has rows of two."""
    recorder, pipeline, first = await _recorded_before(yaml, before)
    batches: list[Transactions] = []
    for start in range(0, len(changes), batch):
        await pipeline.apply(changes[start : start + batch], batch)
        batches.append(recorder.take())
    return first, batches


async def _recorded_before(yaml: str, before: Sequence[Fact]) -> tuple[Recorder, Pipeline, Transactions]:
    recorder = Recorder()
    pipeline = Pipeline(yaml, MemoryTables(carrier=recorder))
    await pipeline.prepare()
    recorder.take()  # the catalog's
    await pipeline.apply(before)
    return recorder, pipeline, recorder.take()
