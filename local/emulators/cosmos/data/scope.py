"""Which part of a container a request reads: a range, a slice of hash space, a partition key, or all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local.emulators.cosmos.data.ranges import find_range
from local.emulators.cosmos.errors import PARTITION_KEY_MISMATCH, BadRequestError

if TYPE_CHECKING:
    from local.emulators.cosmos.data.containers import Container
    from local.emulators.cosmos.data.partition_key import PartitionKey
    from local.emulators.cosmos.data.ranges import Range
    from local.emulators.cosmos.exchange import Call

PARTITION_KEY = "x-ms-documentdb-partitionkey"
RANGE_ID = "x-ms-documentdb-partitionkeyrangeid"
_START = "x-ms-start-epk"
_END = "x-ms-end-epk"
# The service's own words, which clients look for, and what to do.
_NO_WHOLE_KEY = (
    "Partition key provided either doesn't correspond to definition in the collection or doesn't match partition key "
    "field values specified in the document. The whole partition key must be in the header."
)


@dataclass(frozen=True, slots=True)
class Scope:
    """A part of a container. What is None does not narrow it."""

    container: Container
    range: Range | None
    key: PartitionKey | None
    low: str | None
    high: str | None

    @classmethod
    def of(cls, call: Call, container: Container) -> Scope:
        """What the request's headers name."""
        named = call.headers.get(RANGE_ID)
        found = find_range(container.ranges, named) if named is not None else None
        low, high = call.headers.get(_START), call.headers.get(_END)
        text = call.headers.get(PARTITION_KEY)
        if text is None:
            return cls(container, found, None, low, high)
        key = container.partition_key.of_header(text)
        if container.partition_key.is_whole(key):
            return cls(container, found or container.range_of(key.effective), key, low, high)
        # The hashes of all keys with these first values begin with the hash of the prefix.
        return cls(container, found, None, key.effective, f"{key.effective}FF")

    @property
    def only_range(self) -> Range | None:
        """The one range that this part lies in, if it is known to lie in one."""
        if self.range is not None or len(self.container.ranges) > 1:
            return self.range
        return self.container.ranges[0]

    @property
    def crosses_ranges(self) -> bool:
        """Whether the part may lie in more than one range."""
        return self.only_range is None

    def of_items(self) -> tuple[str, list[Any]]:
        """The part as an SQL condition on an item `i` and its version `v`."""
        return _condition(
            ("i.container = ?", self.container.number),
            ("i.range = ?", self.range.number if self.range else None),
            ("i.key = ?", self.key.text if self.key else None),
            ("v.epk >= ?", self.low),
            ("v.epk < ?", self.high),
        )

    def of_versions(self) -> tuple[str, list[Any]]:
        """The part as an SQL condition on a version `v`, which knows the hash of its key only."""
        return _condition(
            ("v.container = ?", self.container.number),
            ("v.range = ?", self.range.number if self.range else None),
            ("v.epk = ?", self.key.effective if self.key else None),
            ("v.epk >= ?", self.low),
            ("v.epk < ?", self.high),
        )


def whole_key(call: Call, container: Container) -> PartitionKey:
    """The partition key in the request's header, which must have all its levels."""
    text = call.headers.get(PARTITION_KEY)
    key = container.partition_key.of_header(text) if text is not None else None
    if key is None or not container.partition_key.is_whole(key):
        raise BadRequestError(_NO_WHOLE_KEY, PARTITION_KEY_MISMATCH)
    return key


def _condition(*candidates: tuple[str, Any]) -> tuple[str, list[Any]]:
    narrowing = [(text, value) for text, value in candidates if value is not None]
    return " AND ".join(text for text, _ in narrowing), [value for _, value in narrowing]
