"""Generations as the pipeline uses them: where their entries go, and how a change is projected into them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from shared.definitions.identity import generation_id, table_name
from shared.entries.keys.periods import Periods, period_of, table_of
from shared.entries.keys.placement import DEFAULT_ACCOUNT, AccountMap
from shared.entries.projection.projector import Projector
from shared.entries.projection.summary_projector import SummaryProjector
from shared.entries.summaries.totals import SummaryLayout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.definitions.model import Definitions, Index, Source

BUCKETS: Final = 16


class Place(NamedTuple):
    """A partition of an index table: what one entity group transaction can reach."""

    account: str
    table: str
    partition: str


@dataclass(frozen=True, slots=True)
class Generation:
    """One physical build of an index that changes are written to."""

    id: str
    index: Index
    table: str
    projector: Projector | SummaryProjector = field(compare=False)
    # Part of the definition, and so of the generation: rows move only by building another one.
    placed: AccountMap = field(init=False, compare=False, repr=False)
    periods: Periods | None = field(init=False, compare=False, repr=False)
    # How totals and contributions are stored; None for an index that is no summary.
    layout: SummaryLayout | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "placed", AccountMap(self.index))
        object.__setattr__(self, "periods", Periods.of(self.index))
        layout = None if self.index.summarize is None else SummaryLayout(self.index.summarize)
        object.__setattr__(self, "layout", layout)

    @classmethod
    def of(cls, index: Index, source: Source, attempt: int = 1) -> Generation:
        """The generation that a definition is. One that comes back after it was retired has another id and table:
        ledger rows may still have states of the earlier one."""
        identity = generation_id(index, source)
        table = table_name(index, identity, attempt)
        return cls(identity if attempt == 1 else f"{identity}r{attempt}", index, table, projector_of(index, source))

    def account_of(self, partition_key: str) -> str:
        """The storage account, by name of its connection, that holds this partition of the table."""
        return self.placed.account_of(partition_key)

    def table_of(self, partition_key: str) -> str:
        """The table that holds this partition: its period's, if it has one; ValueError for no key of this index."""
        return self.table if self.periods is None else table_of(self.table, period_of(partition_key))

    def tables(self) -> set[tuple[str, str]]:
        """The tables that this generation has from the beginning, by account: all but those of periods."""
        return {(account, self.table) for account in self.placed.accounts}

    def near_tables(self, now_seconds: float) -> set[tuple[str, str]]:
        """The tables of the periods that entries of now expire in."""
        starts = () if self.periods is None else self.periods.near(now_seconds)
        return {(account, table_of(self.table, start)) for account in self.placed.accounts for start in starts}

    def is_over(self, partition_key: str, now_seconds: float) -> bool:
        """Whether a partition is of a period that is over: it is not shown, and its table is gone or about to go."""
        return self.periods is not None and self.periods.is_over(period_of(partition_key), now_seconds)

    def is_period_over(self, start: str, now_seconds: float) -> bool:
        """The same of a period."""
        return self.periods is not None and self.periods.is_over(start, now_seconds)


def projector_of(index: Index, source: Source) -> Projector | SummaryProjector:
    """Projects changes of a source into an index or a summary."""
    return SummaryProjector(index) if index.is_summary else Projector(index, source)


def place_of(generation: Generation, partition: str) -> Place:
    """Where a partition of a generation is."""
    return Place(generation.account_of(partition), generation.table_of(partition), partition)


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """What the changes of a source are written to: the generations that this worker knows and keeps.

    Ledger rows lose the states of `retired` generations; those of any other generation are carried over unchanged.
    """

    source: str
    generations: tuple[Generation, ...]
    retired: frozenset[str] = frozenset()
    buckets: int = BUCKETS
    # Those of the generations that serve their index.
    serving: frozenset[str] = frozenset()
    # The index of every generation of the source that the catalog lists, kept or not, by id.
    indexes: Mapping[str, str] = field(default_factory=dict)
    # More removed entries of an unfinished version than this are not carried from version to version: their rows are
    # removed early. Those of a fact whose key changes with every update, in workers that never see it twice, would
    # otherwise grow without end.
    removed_max: int = 4
    # Versions that carry Cosmos DB's `_lsn`, not a declared version.
    has_lsn: bool = False
    # An old change is brought back. If its fact has moved on, it is dropped as a whole, also for a generation that has
    # no state of the fact yet: the newest version, perhaps a delete, may never come to that generation again.
    is_replay: bool = False
    # The account that is brought what it is owed, and nothing else is done; None as a rule.
    delivers_to: str | None = None
    # The storage accounts that hold entries.
    accounts: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        accounts = [account for generation in self.generations for account in generation.placed.accounts]
        object.__setattr__(self, "accounts", frozenset(accounts))

    def index_of(self, generation: str) -> str | None:
        """The index of a generation; None when neither this worker nor its catalog knows it."""
        own = next((known.index.name for known in self.generations if known.id == generation), None)
        return self.indexes.get(generation) if own is None else own

    @property
    def may_owe(self) -> bool:
        """Whether facts may owe entries to an account that was down; the main account is owed nothing."""
        return bool(self.retired) or not self.accounts <= {DEFAULT_ACCOUNT}

    @property
    def has_periods(self) -> bool:
        """Whether a generation has tables per period."""
        return any(generation.periods is not None for generation in self.generations)


def plan_of(definitions: Definitions, source: str) -> SourcePlan:
    """The plan when every index is in its first generation."""
    described = definitions.sources[source]
    generations = tuple(Generation.of(index, described) for index in definitions.indexes_of(source))
    return SourcePlan(source, generations, has_lsn=has_lsn(described))


def has_lsn(source: Source) -> bool:
    """Whether the versions of a source carry Cosmos DB's `_lsn`."""
    return source.cosmos is not None and source.version is None
