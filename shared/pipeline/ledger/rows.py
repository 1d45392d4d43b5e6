"""The ledger row of a fact: its newest claimed version and the entries it has, in every generation.

The states of all generations are stored as compact JSON, compressed and split over binary properties. Entry keys are
stored without the fact key that all of them end with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from shared.entries.keys.versions import newest_of_same_clock, next_version
from shared.pipeline.packing import compress, decompress, put_bytes, take_bytes
from shared.tables.port import PARTITION_KEY, ROW_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.tables.port import Entity

LEDGER_TABLE: Final = "Ledger"
# The service takes 1 MiB; the rest is room for keys, names and the source ETag.
STATES_BYTES_MAX: Final = 900 * 1024
# The ETag that the source gave the fact at its newest version.
SOURCE_ETAG: Final = "mark"
# When the fact was claimed as deleted, in seconds since 1970; on rows of deleted facts only.
DELETED_AT: Final = "deletedAt"
# When the last entry of a fact expired that is not deleted, in seconds since 1970.
EXPIRED_AT: Final = "expiredAt"
_STATES: Final = "parts"


class CurrentEntry(NamedTuple):
    """An entry that the fact has: its keys, the version of its row, and the digest of its columns."""

    partition: str
    entry_key: str
    version: str
    digest: str


class RemovedEntry(NamedTuple):
    """An entry that the fact had before and no longer has, with the version that its row had."""

    partition: str
    entry_key: str
    version: str


class OwedShare(NamedTuple):
    """A storage account that did not answer when a fact changed. What the state lists in it is what may be there: the
    entries of `version`, which is "" when it never had any. `failed`: this version had failed there."""

    account: str
    version: str
    failed: bool
    since_seconds: int


@dataclass(frozen=True, slots=True)
class GenerationState:
    """What the ledger says about a fact in one generation."""

    version: str
    current: tuple[CurrentEntry, ...] = ()
    removed: tuple[RemovedEntry, ...] = ()
    # The version does not fit, and has a dead letter. A failed state has current entries only if code that could
    # project the version claimed it first, and code that could not claimed it as failed.
    failed: bool = False
    # An earlier version failed, in this generation or in an earlier one of its index: a worker that was overtaken may
    # still put the dead letter of that version.
    failed_before: bool = False
    # Accounts whose entries are to be brought to this version later. Empty unless an account is or was down.
    owed: tuple[OwedShare, ...] = ()

    @property
    def tombstone_version(self) -> str:
        """The version of the tombstones that hide the removed entries. It is the state's own version, unless a row was
        written just above that: see `shared.pipeline.apply.decide`."""
        newest = newest_of_same_clock(self.version, [entry.version for entry in self.removed])
        return next_version(newest) if any(entry.version == newest for entry in self.removed) else self.version

    @property
    def may_have_dead_letter(self) -> bool:
        """Whether there may be a dead letter, due or outdated."""
        return self.failed or self.failed_before


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The states of a fact, by generation. `source_etag` is the ETag that the source gave its newest version."""

    states: Mapping[str, GenerationState] = field(default_factory=dict)
    source_etag: str | None = None
    deleted_at_seconds: int | None = None
    expired_at_seconds: int | None = None

    @property
    def debts(self) -> dict[str, dict[str, int]]:
        """The accounts that are owed entries of this fact, each with the generations that owe them and since when."""
        found: dict[str, dict[str, int]] = {}
        for generation, state in self.states.items():
            for share in state.owed:
                found.setdefault(share.account, {})[generation] = share.since_seconds
        return found

    @property
    def ended_at_seconds(self) -> int | None:
        """When the fact was deleted or its last entry expired. Since then the row only keeps old changes out."""
        return self.expired_at_seconds if self.deleted_at_seconds is None else self.deleted_at_seconds


def ledger_partition(source: str, fact_hash: int, buckets: int) -> str:
    """The PartitionKey of a fact's ledger row."""
    return bucket_partition(source, fact_hash % buckets)


def bucket_partition(source: str, bucket: int) -> str:
    """The PartitionKey of all rows of one bucket."""
    return f"{source}-{bucket:03d}"


def encode(row: LedgerRow, partition: str, fact_key: str) -> Entity:
    """The row as an entity."""
    plain = [_plain(generation, state, len(fact_key)) for generation, state in sorted(row.states.items())]
    entity: Entity = {PARTITION_KEY: partition, ROW_KEY: fact_key}
    put_bytes(entity, _STATES, compress(orjson.dumps(plain)))
    if row.source_etag is not None:
        entity[SOURCE_ETAG] = row.source_etag
    if row.deleted_at_seconds is not None:
        entity[DELETED_AT] = row.deleted_at_seconds
    if row.expired_at_seconds is not None:
        entity[EXPIRED_AT] = row.expired_at_seconds
    return entity


def decode(entity: Mapping[str, Any]) -> LedgerRow:
    """The row that an entity holds."""
    fact_key = entity[ROW_KEY]
    plain = orjson.loads(decompress(take_bytes(entity, _STATES)))
    return LedgerRow(
        {generation: _generation_state(rest, fact_key) for generation, *rest in plain},
        entity.get(SOURCE_ETAG),
        entity.get(DELETED_AT),
        entity.get(EXPIRED_AT),
    )


def versions_in(entity: Mapping[str, Any]) -> dict[str, str]:
    """The version of every state that an entity holds, by generation: a tenth of the work of `decode`."""
    return {generation: version for generation, version, *_ in orjson.loads(decompress(take_bytes(entity, _STATES)))}


def states_bytes(entity: Mapping[str, Any]) -> int:
    """How many bytes the states of an encoded row take."""
    return len(take_bytes(entity, _STATES))


def _plain(generation: str, state: GenerationState, suffix: int) -> list[Any]:
    current = [
        [
            entry.partition,
            entry.entry_key[:-suffix],
            0 if entry.version == state.version else entry.version,
            entry.digest,
        ]
        for entry in state.current
    ]
    removed = [[entry.partition, entry.entry_key[:-suffix], entry.version] for entry in state.removed]
    plain = [generation, state.version, int(state.failed) | state.failed_before << 1, current, removed]
    if state.owed:
        plain.append([list(share) for share in state.owed])
    return plain


def _generation_state(fields: list[Any], fact_key: str) -> GenerationState:
    version, failures, current, removed, *owed = fields
    return GenerationState(
        version,
        tuple(
            [
                CurrentEntry(partition, sort + fact_key, row_version or version, digest)
                for partition, sort, row_version, digest in current
            ]
        ),
        tuple([RemovedEntry(partition, sort + fact_key, row_version) for partition, sort, row_version in removed]),
        bool(failures & 1),
        bool(failures & 2),
        tuple([OwedShare(*share) for shares in owed for share in shares]),
    )
