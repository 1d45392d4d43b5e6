"""What the definitions say, as plain frozen values that everything else uses.

Nothing here reads YAML or validates: `load` makes these values from `indexes.yaml` (through pydantic, at
that edge only), `compiled` from the plain form that the deployed app starts with.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, TypeAlias

from shared.definitions.access import Access

PartType: TypeAlias = Literal["string", "integer", "number", "boolean", "datetime"]
Order: TypeAlias = Literal["asc", "desc"]
PeriodLength: TypeAlias = Literal["day", "week", "month"]
EventForm: TypeAlias = Literal["envelope", "document", "debezium", "mapping"]
# How many facts, how many elements, and what is worked out from the values at a path.
MeasureKind: TypeAlias = Literal["facts", "count", "sum", "average", "min", "max"]
# What a key part is after coercion. A datetime is text: an ISO 8601 instant in UTC, as `instants`
# normalises it.
PartValue: TypeAlias = str | int | float | bool
# How many shards a partition may have.
SHARDS_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class CosmosContainer:
    """The container whose change feed a source follows."""

    database: str
    container: str


@dataclass(frozen=True, slots=True)
class Events:
    """How a source reads the events of its hub. All but `form` and `when` belong to a mapping: paths in the event."""

    form: EventForm = "envelope"
    when: str | None = None
    id: str | None = None
    # Empty: it stands in the document, as any other key that is not given.
    partition_key: tuple[str, ...] = ()
    version: str | None = None
    document: str | None = None
    delete: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where facts come from, how one is identified and how its versions are ordered."""

    name: str
    cosmos: CosmosContainer | None = None
    event_hub: str | None = None
    id: str = "id"
    partition_key: tuple[str, ...] = ()
    version: str | None = None
    deleted_when: str | None = None
    all_versions: bool = False
    events: Events = Events()

    @property
    def is_keyed_by_id(self) -> bool:
        """Whether the partition key of a fact follows from its id: it is the id, or there is none."""
        return {*self.partition_key} <= {self.id}

    def plain(self) -> dict[str, Any]:
        """The source as plain values, for JSON. An earlier deployment can read those of sources as it knew them."""
        fields = asdict(self)
        if self.events == Events():
            del fields["events"]
        return fields


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One component of an index key."""

    path: str
    name: str
    type: PartType = "string"
    order: Order = "asc"
    fold: bool = False
    keeps_nulls: bool = False


@dataclass(frozen=True, slots=True)
class Each:
    """One entry per element of the array at `path`; the element is called `name`."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Expire:
    """Entries go when the instant at `path` is `after_seconds` ago; with `tables`, together with their whole period."""

    path: str
    after_seconds: int
    tables: PeriodLength | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a group in a summary, under its name; `path` is what it is worked out from."""

    name: str
    kind: MeasureKind
    path: str | None = None

    @property
    def written(self) -> str | dict[str, str]:
        """As the file says it."""
        return self.kind if self.path is None else {self.kind: self.path}


@dataclass(frozen=True, slots=True)
class RangeSlice:
    """The partition values from `start` up to but without `end` live in `account`; None is open."""

    start: PartValue | None
    end: PartValue | None
    account: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Which storage account a partition lives in, by its first part. Accounts are names of connections."""

    by: Literal["hash", "list", "range"]
    accounts: tuple[str, ...]
    values: tuple[tuple[PartValue, str], ...] = ()
    default: str | None = None
    slices: tuple[RangeSlice, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """Every account that it names, each once."""
        listed = [account for _, account in self.values] + [range_slice.account for range_slice in self.slices]
        return tuple(dict.fromkeys([*self.accounts, *listed, *([self.default] if self.default else [])]))


@dataclass(frozen=True, slots=True)
class Index:
    """One definition: which entries a fact has, how they are found and what they carry."""

    name: str
    source: str
    partition: tuple[KeyPart, ...]
    sort: tuple[KeyPart, ...] = ()
    project: Literal["all", "keys"] | tuple[str, ...] = "all"
    each: Each | None = None
    where: str | None = None
    shards: int = 1
    hot: tuple[tuple[PartValue, int], ...] = ()
    expire: Expire | None = None
    placement: Placement | None = None
    # Entries are groups of facts with these measures, in place of facts with what `project` takes.
    summarize: tuple[Measure, ...] | None = None
    # All key parts, partition first.
    parts: tuple[KeyPart, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", self.partition + self.sort)

    @property
    def is_summary(self) -> bool:
        """Whether entries are groups of facts."""
        return self.summarize is not None

    def plain(self) -> dict[str, Any]:
        """The definition as plain values, for JSON and for the generation's id: without what is worked out from it."""
        fields = asdict(self)
        del fields["parts"]
        if self.summarize is None:
            # As before there were summaries: the ids of other indexes stay as they are.
            del fields["summarize"]
        return fields


@dataclass(frozen=True, slots=True)
class Definitions:
    """Everything that one `indexes.yaml` defines."""

    sources: dict[str, Source] = field(default_factory=dict)
    indexes: dict[str, Index] = field(default_factory=dict)
    access: Access = field(default_factory=Access)

    def sources_of_hub(self, hub: str) -> tuple[Source, ...]:
        """The sources that the events of a hub may be changes of."""
        return tuple(source for source in self.sources.values() if source.event_hub == hub)

    def hubs(self) -> tuple[str, ...]:
        """Every hub that feeds a source, each once."""
        return tuple(dict.fromkeys(source.event_hub for source in self.sources.values() if source.event_hub))

    def indexes_of(self, source: str) -> tuple[Index, ...]:
        """The indexes that a change of this source may touch."""
        return tuple(index for index in self.indexes.values() if index.source == source)
