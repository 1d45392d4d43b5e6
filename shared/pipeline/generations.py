"""Generations as the pipeline uses them: where their entries go, and how a change is projected into them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shared.definitions.generation import generation_id, table_name
from shared.keys.placement import AccountMap
from shared.projection.project import Projector

if TYPE_CHECKING:
    from shared.definitions.model import Definitions, Index, Source

BUCKETS: Final = 16


@dataclass(frozen=True, slots=True)
class Generation:
    """One physical build of an index that changes are written to."""

    id: str
    index: Index
    table: str
    projector: Projector = field(compare=False)
    # Part of the definition, and so of the generation: rows move only by building another one.
    placed: AccountMap = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "placed", AccountMap(self.index))

    @classmethod
    def of(cls, index: Index, source: Source, attempt: int = 1) -> Generation:
        """The generation that a definition is. One that comes back after it was retired has another id and table:
        ledger rows may still have parts of the earlier one."""
        identity = generation_id(index, source)
        table = table_name(index.name, identity, attempt)
        return cls(identity if attempt == 1 else f"{identity}r{attempt}", index, table, Projector(index, source))

    def account_of(self, partition_key: str) -> str:
        """The storage account, by name of its connection, that holds this partition of the table."""
        return self.placed.account_of(partition_key)

    def tables(self) -> set[tuple[str, str]]:
        """Every table of this generation, by account."""
        return {(account, self.table) for account in self.placed.accounts}


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """What the changes of a source are written to: the generations that this worker knows and keeps.

    `retired` are generations whose parts are dropped; parts of any other generation are carried over unchanged.
    """

    source: str
    generations: tuple[Generation, ...]
    retired: frozenset[str] = frozenset()
    buckets: int = BUCKETS
    # More left keys of an unfinished version than this are trimmed, not carried from version to version: those of a
    # fact whose key changes with every update, in workers that never see it twice, would grow without end.
    left_max: int = 4
    # Versions that carry Cosmos DB's `_lsn`, not a declared version.
    has_lsn: bool = False
    # An old change is brought back. If its fact has moved on it is dropped as a whole, also for a generation that has
    # no part yet: the newest version, perhaps a delete, may never come to that one again.
    is_replay: bool = False


def plan_of(definitions: Definitions, source: str) -> SourcePlan:
    """The plan when every index is in its first generation."""
    described = definitions.sources[source]
    generations = tuple(Generation.of(index, described) for index in definitions.indexes_of(source))
    return SourcePlan(source, generations, has_lsn=has_lsn(described))


def has_lsn(source: Source) -> bool:
    """Whether the versions of a source carry Cosmos DB's `_lsn`."""
    return source.cosmos is not None and source.version is None
