"""What calls answer: entries, pages, counts, explanations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, NotRequired, Self, TypedDict, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

K = TypeVar("K")
D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Entry(Generic[K, D]):
    """An entry of an index: the values of its key, and what the index projects from the fact.

    A group of a summary has `key` and `data`; its `id` and `version` are empty. Times in `key` are ISO 8601 text.
    """

    key: K
    data: D
    id: str = ""
    version: str = ""
    partition_key: Any = None
    is_reference: bool = False
    fact: dict[str, Any] | None = None

    @classmethod
    def of(cls, members: Mapping[str, Any]) -> Entry[K, D]:
        """An entry as the app answers it."""
        return cls(
            key=cast("K", members["key"]),
            data=cast("D", members["data"]),
            id=members.get("id", ""),
            version=members.get("version", ""),
            partition_key=members.get("partitionKey"),
            is_reference=members.get("isReference", False),
            fact=members.get("fact"),
        )


class Behind(TypedDict):
    """A storage account that was down and lacks changes since then."""

    account: str
    since: str


@dataclass(frozen=True, slots=True)
class Page(Generic[K, D]):
    """A page of entries. A page may have few or none and still have a next one."""

    entries: list[Entry[K, D]]
    url: str = field(repr=False)
    next_link: str | None = field(default=None, repr=False)
    etag: str | None = None
    behind: tuple[Behind, ...] = ()
    read_from: Literal["primary", "secondary"] = "primary"

    def __iter__(self) -> Iterator[Entry[K, D]]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @classmethod
    def of(cls, content: Mapping[str, Any], url: str, etag: str | None = None) -> Page[K, D]:
        """A page as the app answers it."""
        return cls(
            entries=[Entry[K, D].of(each) for each in content["value"]],
            url=url,
            next_link=content.get("nextLink"),
            etag=etag,
            behind=tuple(content.get("behind", ())),
            read_from=content.get("readFrom", "primary"),
        )


class Count(int):
    """How many entries a lookup would find, as a number; not exact when there are more than the app counts."""

    is_exact: bool

    def __new__(cls, count: int, *, is_exact: bool) -> Self:
        """That many."""
        made = super().__new__(cls, count)
        made.is_exact = is_exact
        return made


class Refusal(TypedDict):
    """One reason why a lookup would be refused."""

    code: str
    parameter: str
    detail: str


class Explanation(TypedDict):
    """How a lookup would run; one that would be refused has `errors` in place of what would be read."""

    index: str
    access: Literal["point", "range", "partition", "fan-out", "refused"]
    explanation: str
    generation: str
    table: str
    storageTransactionsPerPage: int
    accounts: NotRequired[list[str]]
    partitionKeys: NotRequired[list[str]]
    rowKeys: NotRequired[dict[str, str]]
    rowKeyRanges: NotRequired[int]
    partitions: NotRequired[int]
    parallelReads: NotRequired[int]
    shards: NotRequired[int]
    tables: NotRequired[int]
    factReadsPerPage: NotRequired[int]
    comparesStoredValues: NotRequired[bool]
    errors: NotRequired[list[Refusal]]
    suggestion: NotRequired[dict[str, Any]]
