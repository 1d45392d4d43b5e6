"""Hubs: names, partitions with their tails, and consumer groups, as the store keeps them."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_GROUP = "$Default"
MAX_PARTITIONS = 1024
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,254}[A-Za-z0-9])?")


class Reader(Protocol):
    """A consumer that waits for new events of a partition."""

    def pump(self) -> None:
        """Take what is there now."""


@dataclass(slots=True, eq=False)
class Partition:
    """One partition: where its log begins and ends, and who reads it."""

    id: int
    number: int
    begin_sequence: int
    next_sequence: int
    next_offset: int
    last_offset: int
    last_enqueued_ms: int
    readers: set[Reader] = field(default_factory=set)

    @property
    def last_sequence(self) -> int:
        """The sequence number of the newest event; -1 before the first one."""
        return self.next_sequence - 1

    @property
    def is_empty(self) -> bool:
        """Whether it holds no event now."""
        return self.begin_sequence == self.next_sequence


@dataclass(frozen=True, slots=True, eq=False)
class Hub:
    """One event hub."""

    name: str
    created_ms: int
    partitions: tuple[Partition, ...]
    groups: frozenset[str]
    turns: Iterator[int] = field(default_factory=itertools.count)

    def has_group(self, name: str) -> bool:
        """Whether there is a consumer group of this name; case does not matter, as in Azure."""
        return name.lower() in self.groups

    def partition(self, number: str) -> Partition | None:
        """The partition with this number, if the hub has it."""
        known = number.isascii() and number.isdigit() and int(number) < len(self.partitions)
        return self.partitions[int(number)] if known else None

    def next_in_turn(self) -> Partition:
        """The partition that takes the next event without key and partition: each of them in turn."""
        return self.partitions[next(self.turns) % len(self.partitions)]


@dataclass(frozen=True, slots=True)
class HubSpec:
    """A hub that must exist: `NAME:PARTITIONS`."""

    name: str
    partition_count: int

    @classmethod
    def parse(cls, text: str) -> HubSpec:
        """Read `orders:4`."""
        name, _, count = text.partition(":")
        if not _NAME.fullmatch(name):
            raise LocalRunError(f"The hub name {name!r} is not valid: use letters, digits, '.', '-' and '_'.")
        if not (count.isascii() and count.isdigit() and 1 <= int(count) <= MAX_PARTITIONS):
            raise LocalRunError(f"Hub {name}: write 1 to {MAX_PARTITIONS} partitions, as in {name}:4, not {count!r}.")
        return cls(name, int(count))


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A consumer group that must exist, on one hub or on all: `[HUB/]NAME`."""

    hub: str | None
    name: str

    @classmethod
    def parse(cls, text: str) -> GroupSpec:
        """Read `audit` or `orders/audit`."""
        hub, slash, name = text.rpartition("/")
        if name != DEFAULT_GROUP and (not _NAME.fullmatch(name) or len(name) > 50):
            raise LocalRunError(f"The consumer group {text!r} is not valid: use [HUB/]NAME, 50 characters at most.")
        return cls(hub if slash else None, name)

    def belongs_to(self, hub: str) -> bool:
        """Whether the hub of this name must have it."""
        return self.hub is None or self.hub.lower() == hub.lower()
