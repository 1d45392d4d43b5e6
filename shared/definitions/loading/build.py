"""Turns what fits the shape into the model: defaults filled in, names derived, values typed.

Two files that mean the same give equal definitions: paths are written in one way, single values and lists
of one are the same, and the order of keys is lost.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, cast

from shared.definitions.access import OPERATOR, READER, Access, IndexAccess
from shared.definitions.field_paths import quoted, segments
from shared.definitions.loading.shape import DURATION
from shared.definitions.model import (
    CosmosContainer,
    Definitions,
    Each,
    Events,
    Expire,
    Index,
    KeyPart,
    Measure,
    Placement,
    RangeSlice,
    Source,
)
from shared.definitions.values import REFUSED, coerce

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shared.definitions.loading.findings import Findings, KeyPath
    from shared.definitions.loading.shape import (
        EventsShape,
        ExpireShape,
        FileShape,
        IndexShape,
        MeasureShape,
        PartShape,
        PlacementShape,
        SliceShape,
        SourceShape,
    )
    from shared.definitions.model import MeasureKind, PartValue

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def build(shape: FileShape, findings: Findings) -> Definitions:
    """The definitions of a file that fits the shape."""
    return Definitions(
        {name: _source(name, source) for name, source in shape.sources.items()},
        {name: _IndexBuilder(name, findings).index(index) for name, index in shape.indexes.items()},
        _access(shape),
    )


def _access(shape: FileShape) -> Access:
    given = shape.access
    readers = tuple((given and given.readers) or (READER,))
    return Access(
        readers,
        tuple((given and given.operators) or (OPERATOR,)),
        {
            name: IndexAccess(tuple(index.access.readers or readers), tuple((index.access.bind or {}).items()))
            for name, index in shape.indexes.items()
            if index.access
        },
    )


def _source(name: str, shape: SourceShape) -> Source:
    events = _events(shape.events)
    # Without a container a mapping alone says how a fact is identified and how its versions are ordered.
    mapped = Events() if shape.cosmos else events
    return Source(
        name=name,
        cosmos=CosmosContainer(shape.cosmos.database, shape.cosmos.container) if shape.cosmos else None,
        event_hub=shape.event_hub,
        id=mapped.id or canonical(shape.id),
        partition_key=mapped.partition_key or _paths(shape.partition_key or (["id"] if shape.cosmos else [])),
        version=mapped.version or _optional(shape.version),
        deleted_when=_optional(shape.deletes.when) if shape.deletes else None,
        all_versions=bool(shape.deletes and shape.deletes.feed),
        events=events,
    )


def _events(shape: Literal["envelope", "document", "debezium"] | EventsShape | None) -> Events:
    if shape is None or isinstance(shape, str):
        return Events(shape or "envelope")
    return Events(
        form=shape.form or "mapping",
        when=_optional(shape.when),
        id=_optional(shape.id),
        partition_key=_paths(shape.partition_key or []),
        version=_optional(shape.version),
        document=_optional(shape.document),
        delete=_optional(shape.delete),
    )


def _paths(given: str | list[str]) -> tuple[str, ...]:
    return tuple(map(canonical, [given] if isinstance(given, str) else given))


def canonical(path: str) -> str:
    """One spelling for all spellings of a dotted path; other expressions only lose outer blanks."""
    names = segments(path.strip())
    return path.strip() if names is None else ".".join(map(quoted, names))


def _optional(path: str | None) -> str | None:
    return None if path is None else canonical(path)


def _parts(shape: str | PartShape | list[str | PartShape] | None) -> tuple[KeyPart, ...]:
    listed = shape if isinstance(shape, list) else [] if shape is None else [shape]
    return tuple(map(_part, listed))


def _default_name(path: str) -> str:
    """The last segment of a dotted path; an expression has no name of its own, which `check` reports."""
    return (segments(path.strip()) or ("",))[-1]


def _part(shape: str | PartShape) -> KeyPart:
    if isinstance(shape, str):
        return KeyPart(path=canonical(shape), name=_default_name(shape))
    return KeyPart(
        path=canonical(shape.path),
        name=shape.name or _default_name(shape.path),
        type=shape.type,
        order=shape.order,
        fold=shape.fold is not None,
        keeps_nulls=shape.nulls is not None,
    )


def _project(shape: IndexShape) -> Literal["all", "keys"] | tuple[str, ...]:
    """A summary carries its measures and nothing of a fact."""
    if shape.summarize is not None:
        return "keys"
    return shape.project if isinstance(shape.project, str) else tuple(map(canonical, shape.project))


class _IndexBuilder:
    """Builds one index; knows where it stands, for the faults of values that have another type."""

    def __init__(self, name: str, findings: Findings) -> None:
        self._name = name
        self._findings = findings

    def index(self, shape: IndexShape) -> Index:
        partition = _parts(shape.partition)
        return Index(
            name=self._name,
            source=shape.source,
            partition=partition,
            sort=_parts(shape.sort),
            project=_project(shape),
            each=self._each(shape.each),
            where=_optional(shape.where),
            shards=shape.shards,
            hot=tuple(sorted(self._hot(shape.hot or {}, partition), key=repr)),
            expire=self._expire(shape.expire),
            placement=self._placement(shape.placement, partition),
            summarize=None if shape.summarize is None else tuple(self._measures(shape.summarize)),
        )

    def _fault(self, path: KeyPath, what: str, fix: str) -> None:
        self._findings.fault(("indexes", self._name, *path), what, fix)

    def _each(self, shape: dict[str, str] | None) -> Each | None:
        if shape is None:
            return None
        if len(shape) != 1:
            self._fault(("each",), f"{len(shape)} arrays are named", 'Name one: "each: {actor: cast}".')
            return None
        ((name, path),) = shape.items()
        return Each(name, canonical(path))

    def _measures(self, shape: Mapping[str, str | MeasureShape]) -> Iterator[Measure]:
        for name, measure in shape.items():
            if isinstance(measure, str):
                yield Measure(name, cast("MeasureKind", measure))
                continue
            given = [(kind, path) for kind, path in measure.model_dump().items() if path is not None]
            if len(given) == 1:
                ((kind, path),) = given
                yield Measure(name, cast("MeasureKind", kind), canonical(path))
            else:
                what = f"{len(given)} measures are named" if given else "no measure is named"
                self._fault(
                    ("summarize", name), what, f'Name one of sum, average, min and max: "{name}: {{sum: PATH}}".'
                )

    def _hot(self, shape: dict[str, int], partition: tuple[KeyPart, ...]) -> list[tuple[PartValue, int]]:
        typed = [(self._typed(value, partition, ("hot", value)), count) for value, count in shape.items()]
        return [(value, count) for value, count in typed if value is not None]

    def _typed(self, value: object, partition: tuple[KeyPart, ...], path: KeyPath) -> PartValue | None:
        """A value of the first partition part, or None with a fault when it cannot be one."""
        part_type = partition[0].type if partition else "string"
        typed = coerce(part_type, value)
        if typed is not REFUSED:
            return typed
        self._fault(
            path,
            f"{value!r} is not of type {part_type}",
            "Values of the first partition part have that type.",
        )
        return None

    def _expire(self, shape: ExpireShape | None) -> Expire | None:
        if shape is None:
            return None
        match = re.fullmatch(DURATION, shape.after)
        assert match is not None  # or it would not fit the shape
        return Expire(canonical(shape.path), int(match[1]) * _SECONDS[match[2]], shape.tables)

    def _placement(self, shape: PlacementShape | None, partition: tuple[KeyPart, ...]) -> Placement | None:
        if shape is None:
            return None
        faults_before = len(self._findings.faults)
        placement = Placement(
            by=shape.by,
            accounts=tuple(shape.accounts or ()),
            values=self._values(shape.map, partition) if isinstance(shape.map, dict) else (),
            default=shape.default,
            slices=self._slices(shape.map, partition) if isinstance(shape.map, list) else (),
        )
        # A map with values left out would only lead to faults that are not in the file.
        return placement if len(self._findings.faults) == faults_before else None

    def _values(self, shape: dict[str, str], partition: tuple[KeyPart, ...]) -> tuple[tuple[PartValue, str], ...]:
        typed = [(self._typed(value, partition, ("placement", "map", value)), shape[value]) for value in shape]
        return tuple((value, account) for value, account in typed if value is not None)

    def _slices(self, shape: list[SliceShape], partition: tuple[KeyPart, ...]) -> tuple[RangeSlice, ...]:
        return tuple(
            RangeSlice(
                self._edge(item.from_, partition, number, "from"),
                self._edge(item.to, partition, number, "to"),
                item.account,
            )
            for number, item in enumerate(shape)
        )

    def _edge(self, value: object, partition: tuple[KeyPart, ...], number: int, key: str) -> PartValue | None:
        return None if value is None else self._typed(value, partition, ("placement", "map", number, key))
