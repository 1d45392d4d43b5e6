"""The shape of `indexes.yaml`, for pydantic: which keys there are and what kind of value each takes.

Only `load` and `schema` use this, and nothing that must start fast does: pydantic is the edge. What a shape
cannot say (names, paths, how keys depend on each other) is in `check`.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from shared.definitions.model import SHARDS_MAX

# The tags of the unions below. They show up in the places of faults and are taken out there.
TAGS: Final = frozenset({"~one", "~list", "~mapping"})
DURATION: Final = "^([1-9][0-9]{0,8})([smhdw])$"


def _one_or_list(value: Any) -> str:
    return "~list" if isinstance(value, list) else "~one"


def _one_list_or_mapping(value: Any) -> str:
    if isinstance(value, str):
        return "~one"
    return "~list" if isinstance(value, list) else "~mapping"


def _one_or_mapping(value: Any) -> str:
    return "~one" if isinstance(value, str) else "~mapping"


def _no_boolean(value: Any) -> Any:
    """Python takes true for 1."""
    if isinstance(value, bool):
        raise PydanticCustomError("literal_error", "a boolean is not a number", {"expected": "1"})
    return value


class Shape(BaseModel):
    """Unknown keys are faults, and nothing is converted silently."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=False)


Text: TypeAlias = Annotated[str, Field(min_length=1)]
Texts: TypeAlias = Annotated[list[Text], Field(min_length=1)]
TextOrTexts: TypeAlias = Annotated[
    Annotated[Text, Tag("~one")] | Annotated[Texts, Tag("~list")], Discriminator(_one_or_list)
]


class CosmosShape(Shape):
    """The Cosmos DB container whose change feed is followed."""

    database: Text = Field(description="The name of the database.")
    container: Text = Field(description="The name of the container.")


class DeletesShape(Shape):
    """How deletes are seen: one of the two."""

    when: Text | None = Field(None, description="A fact for which this expression holds counts as deleted.")
    feed: Literal["allVersions"] | None = Field(
        None, description="Hard deletes, through the all versions and deletes change feed."
    )


class EventsShape(Shape):
    """How events are read that have a form of their own."""

    when: Text | None = Field(None, description="Only events for which this expression holds; others are ignored.")
    form: Literal["envelope", "document", "debezium"] | None = Field(
        None, description="One of the known forms, in place of the keys below."
    )
    id: Text | None = Field(None, description="The path of the fact's id in the event.")
    partition_key: TextOrTexts | None = Field(None, description="The path or paths of its partition key in the event.")
    version: Text | None = Field(None, description="The path of its version in the event.")
    document: Text | None = Field(None, description="The path of the fact in the event; by default all of it.")
    delete: Text | None = Field(None, description="An event for which this expression holds deletes the fact.")


class SourceShape(Shape):
    """Where facts come from, how one is identified and how its versions are ordered."""

    cosmos: CosmosShape | None = Field(None, description="The Cosmos DB container that the facts live in.")
    event_hub: Text | None = Field(None, description="The event hub that changes arrive through.")
    events: (
        Annotated[
            Annotated[Literal["envelope", "document", "debezium"], Tag("~one")]
            | Annotated[EventsShape, Tag("~mapping")],
            Discriminator(_one_list_or_mapping),
        ]
        | None
    ) = Field(None, description="What the events of the hub look like: a known form, or a mapping.")
    id: Text = Field("id", description="The path of the fact's id.")
    partition_key: TextOrTexts | None = Field(None, description="The path or paths of the fact's own partition key.")
    version: Text | None = Field(None, description="The path of a number or ISO 8601 time that grows with each change.")
    deletes: DeletesShape | None = Field(None, description="How deletes are seen.")


class PartShape(Shape):
    """One component of an index key."""

    path: Text = Field(description="The path of the value: dotted, or any JMESPath expression.")
    name: Text | None = Field(None, description="What lookups call it; by default the path's last segment.")
    type: Literal["string", "integer", "number", "boolean", "datetime"] = Field(
        "string", description="The type of the value; other JSON types are coerced when nothing is lost."
    )
    order: Literal["asc", "desc"] = Field("asc", description="The order in which lookups return it.")
    fold: Literal["case"] | None = Field(None, description="Makes lookups, ranges and prefixes case-insensitive.")
    nulls: Literal["index"] | None = Field(None, description="Keeps facts whose value is null or missing.")


PartOrText: TypeAlias = Annotated[
    Annotated[Text, Tag("~one")] | Annotated[PartShape, Tag("~mapping")], Discriminator(_one_list_or_mapping)
]
Parts: TypeAlias = Annotated[
    Annotated[Text, Tag("~one")] | Annotated[PartShape, Tag("~mapping")] | Annotated[list[PartOrText], Tag("~list")],
    Discriminator(_one_list_or_mapping),
]
Project: TypeAlias = Annotated[
    Annotated[Literal["all", "keys"], Tag("~one")] | Annotated[Texts, Tag("~list")],
    Discriminator(_one_or_list),
]


class ExpireShape(Shape):
    """When entries go by themselves."""

    path: Text = Field(description="The path of an ISO 8601 time in the fact.")
    after: Text = Field(
        pattern=DURATION, description="How long after that time: a number and s, m, h, d or w, such as 90d."
    )
    tables: Literal["day", "week", "month"] | None = Field(
        None, description="Entries that expire in the same day, week or month share a table that is dropped whole."
    )


Scalar: TypeAlias = str | int | float | bool


class SliceShape(Shape):
    """One slice of a range map."""

    from_: Scalar | None = Field(None, alias="from", description="The lowest value in it; left out: no lower end.")
    to: Scalar | None = Field(None, description="The first value after it; left out: no upper end.")
    account: Text = Field(description="The connection of the storage account.")


class PlacementShape(Shape):
    """Which storage account each partition lives in, by the value of its first part."""

    by: Literal["hash", "list", "range"] = Field(description="How the account is chosen.")
    accounts: Texts | None = Field(None, description="by: hash. The connections to spread partitions over.")
    map: (
        Annotated[
            Annotated[dict[str, Text], Tag("~one")] | Annotated[list[SliceShape], Tag("~list")],
            Discriminator(_one_or_list),
        ]
        | None
    ) = Field(None, description="by: list, value to connection. by: range, a list of slices.")
    default: Text | None = Field(None, description="by: list. The connection of every other value.")


class IndexAccessShape(Shape):
    """Who may look this index up, when callers are known by Entra ID."""

    readers: Texts | None = Field(None, description="App roles that may look it up; left out: those of the file.")
    bind: Annotated[dict[str, Text], Field(min_length=1)] | None = Field(
        None, description="Parts of the key that must equal a claim of the caller: {part: claim}."
    )


class AccessShape(Shape):
    """Who may call, when callers are known by Entra ID."""

    readers: Texts | None = Field(None, description="App roles that may look up; by default Index.Read.")
    operators: Texts | None = Field(None, description="App roles for the calls of operators; by default Index.Operate.")


class MeasureShape(Shape):
    """A measure of the values at a path: one of the four."""

    sum: Text | None = Field(None, description="The path of numbers that are added up.")
    average: Text | None = Field(None, description="The path of numbers whose mean is shown.")
    min: Text | None = Field(None, description="The path of numbers whose smallest is shown.")
    max: Text | None = Field(None, description="The path of numbers whose largest is shown.")


Measure: TypeAlias = Annotated[
    Annotated[Literal["facts", "count"], Tag("~one")] | Annotated[MeasureShape, Tag("~mapping")],
    Discriminator(_one_or_mapping),
]


class IndexShape(Shape):
    """One index: which entries a fact has, how they are found and what they carry."""

    source: Text = Field(description="The name of a source above.")
    partition: Parts = Field(description="The part or parts that a lookup must give: the PartitionKey.")
    sort: Parts | None = Field(None, description="The part or parts that order the entries: the RowKey.")
    project: Project = Field("all", description="What an entry carries: all, keys, or a list of paths.")
    each: dict[str, Text] | None = Field(None, description="One entry per element of an array: {name: path}.")
    where: Text | None = Field(None, description="Only facts (or elements) for which this expression holds.")
    shards: int = Field(1, ge=1, le=SHARDS_MAX, description="How many sub-partitions each partition is spread over.")
    hot: dict[str, Annotated[int, Field(ge=1, le=SHARDS_MAX)]] | None = Field(
        None, description="Partition values with their own number of shards."
    )
    expire: ExpireShape | None = Field(None, description="When entries go by themselves.")
    placement: PlacementShape | None = Field(None, description="Which storage account each partition lives in.")
    access: IndexAccessShape | None = Field(None, description="Who may look it up.")
    summarize: dict[str, Measure] | None = Field(
        None, min_length=1, description="In place of project: entries are groups of facts with these measures, by name."
    )


class FileShape(Shape):
    """The definitions that an app serves."""

    version: Annotated[Literal[1], BeforeValidator(_no_boolean)] = Field(description="The version of this format: 1.")
    sources: dict[str, SourceShape] = Field(description="Where facts come from, by name.")
    indexes: dict[str, IndexShape] = Field(description="The indexes to keep, by name.")
    access: AccessShape | None = Field(None, description="Who may call.")
