"""A trial: two hosts on local services, facts that change under them, and the comparison in the end."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from azure.data.tables import TableClient

from tests.e2e.changing_facts import SUMMARY, found_entry, group_text
from tests.e2e.hosts import Host
from tests.e2e.outside_reader import entries, groups
from tests.support import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.changing_facts import Kind, World
    from tests.e2e.writing_facts import FactWriter

# How long nothing at all may happen to an index that is not exact yet: on a busy machine a batch takes a minute.
STANDSTILL_SECONDS = 180.0
# Reading an index with the SDK costs as much as filling it: the hosts need the processor more.
LOOK_SECONDS = 1.0
GIVEN_UP = "gave up a batch"


@contextlib.contextmanager
def two_hosts(folder: Path, settings: dict[str, str]) -> Iterator[list[Host]]:
    """Two hosts that share the work, started; they end with the block."""
    hosts = [Host(name, folder, settings) for name in ("one", "two")]
    for host in hosts:
        host.start()
    try:
        yield hosts
    finally:
        for host in hosts:
            host.stop()


@dataclass
class ChangingFacts:
    """A thread that changes facts: as fast as it may up to the number it is allowed, then a trickle."""

    writer: FactWriter
    kinds: tuple[Kind, ...]
    poison_share: float = 0.0
    allowed: int = 0
    changes: int = 0

    def __post_init__(self) -> None:
        self._stop = self.writer.hubs.stop
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failure: BaseException | None = None

    def insert(self, counts: dict[Kind, int]) -> None:
        """The facts that are there from the beginning."""
        for kind, count in counts.items():
            for number in range(count):
                self.writer.write(kind, number, self.writer.world.insert(kind, number))
        self.writer.flush()

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Change for the length of the block; then whatever was held back is sent."""
        self._thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join()
            self.writer.hubs.close()
        self.check()
        self.writer.flush(all_of_them=True)
        self.writer.hubs.close()

    def check(self) -> None:
        """Raise what went wrong in the thread."""
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._change(25 if self.changes < self.allowed else 4)
                self._stop.wait(0.2)
        except BaseException as error:  # raised in the thread of the test by `check`
            self._failure = error

    def _change(self, count: int) -> None:
        writer = self.writer
        for _ in range(count):
            writer.write(*writer.world.change())
            if writer.random.random() < self.poison_share:
                writer.poison(writer.random.choice([kind for kind in self.kinds if kind.hub]))
        writer.flush()
        self.changes += count


def wait_until_exact(storage: str, world: World, kinds: tuple[Kind, ...]) -> int:
    """Every index has exactly what brute force says, or stands still without; how many entries there are."""
    expected = {index: entries for kind in kinds for index, entries in world.entries(kind).items()}
    for index, wanted in expected.items():
        _wait_until_exact(storage, index, wanted)
    # A fact that moves and comes back makes its index exact for a moment before it is: all of them have to be at once.
    wait_until(
        lambda: {index: found(storage, index) for index in expected} == expected,
        "every index is exact at once",
        STANDSTILL_SECONDS,
    )
    return sum(wanted.total() for wanted in expected.values())


def _wait_until_exact(storage: str, index: str, wanted: Counter[str]) -> None:
    there, changed = found(storage, index), time.monotonic()
    while there != wanted:
        if time.monotonic() - changed > STANDSTILL_SECONDS:
            raise AssertionError(_difference(index, there, wanted))
        time.sleep(LOOK_SECONDS)
        before, there = there, found(storage, index)
        if there != before:
            changed = time.monotonic()


def found(storage: str, index: str) -> Counter[str]:
    """What an index has."""
    if index.endswith(SUMMARY):
        return Counter(
            group_text(json.loads(key)["town"], facts, sums["price"])
            for key, (facts, sums) in groups(storage, index).items()
            if facts
        )
    return Counter(map(found_entry, entries(storage, index)))


def _difference(index: str, there: Counter[str], expected: Counter[str]) -> str:
    missing, too_many = expected - there, there - expected
    return (
        f"{index}: {missing.total()} missing, {too_many.total()} too many\n"
        f"missing: {list(missing)[:5]}\ntoo many: {list(too_many)[:5]}"
    )


def unprojectable(storage: str) -> set[tuple[str, str, str]]:
    """Source, index and fact of every dead letter of a change that does not fit an index."""
    return {
        (
            dead_letter["PartitionKey"],
            dead_letter["index"],
            json.dumps(json.loads(dead_letter["_fact"]), sort_keys=True),
        )
        for dead_letter in _dead_letters(storage)
        if dead_letter["index"]
    }


def unreadable(storage: str) -> Counter[str]:
    """How many dead letters each source has of what is no change at all."""
    return Counter(dead_letter["PartitionKey"] for dead_letter in _dead_letters(storage) if not dead_letter["index"])


def _dead_letters(storage: str) -> list[dict[str, Any]]:
    with TableClient.from_connection_string(storage, "DeadLetters") as table:
        return [dict(row) for row in table.list_entities()]


def wait_until_both_apply(hosts: list[Host]) -> None:
    """Both hosts have leases and do their share."""
    wait_until(lambda: all(host.applied_batches for host in hosts), "both hosts have applied a batch", 300)
