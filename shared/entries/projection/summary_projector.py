"""Projection into a summary: a change gives the contributions of its fact, one for each group. Pure.

Elements of one fact that fall into the same group add up. A measured value that is null or missing counts as absent;
one that is no number refuses the fact.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from shared.definitions.values import folded
from shared.entries.changes.paths import EvaluationError
from shared.entries.changes.shown_values import value_in_message
from shared.entries.projection.key_values import ON_FACT, KeyValueReader, RefusedValueError, TooManyEntriesError
from shared.entries.projection.projector import (
    DIGEST_DIGITS,
    ELEMENT_ENTRIES_MIB_MAX,
    MIB,
    Entry,
    too_large,
    unprojectable,
)
from shared.entries.rows.columns import ENTITY_BYTES_MAX, entity_bytes
from shared.entries.rows.json_text import NotJsonError, canonical_bytes, dumps
from shared.entries.summaries import decimals
from shared.entries.summaries.rows import contribution_columns, contribution_key
from shared.entries.summaries.totals import Amount, Contribution, SummaryLayout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from decimal import Decimal

    from shared.definitions.model import Index
    from shared.entries.changes.change import Change
    from shared.entries.projection.key_values import EntryKeyValues


class _Group:
    """What a fact has in one group so far: elements, and values by path."""

    __slots__ = ("elements", "key", "values")

    def __init__(self, key: EntryKeyValues, paths: int) -> None:
        self.key = key
        self.elements = 0
        self.values: list[list[Decimal]] = [[] for _ in range(paths)]


class SummaryProjector:
    """Projects changes of a source into one summary."""

    def __init__(self, index: Index) -> None:
        self._keys = KeyValueReader(index)
        self.layout = SummaryLayout(index.summarize or ())
        self._reads = [(path, *self._keys.compiled(path)) for path in self.layout.paths]
        self._folded = tuple(part.name for part in index.parts if part.fold)

    def project(self, change: Change) -> tuple[Entry, ...]:
        """The contributions of the fact to this summary; raises `UnprojectableError` when it does not fit."""
        if change.document is None:
            return ()
        try:
            return tuple(self._entries(change, self._groups(change.document)))
        except (EvaluationError, NotJsonError, RefusedValueError, TooManyEntriesError) as error:
            raise unprojectable(error) from error

    def _groups(self, document: dict[str, Any]) -> list[_Group]:
        groups: dict[tuple[str, str], _Group] = {}
        numbers_of = self._numbers_of(document)
        for key in self._keys.keys_of_all(document):
            place = (key.partition, key.sort)
            group = groups.get(place)
            if group is None:
                group = groups[place] = _Group(key, len(self._reads))
            group.elements += 1
            for number, values in zip(numbers_of(key.element), group.values, strict=True):
                if number is not None:
                    values.append(number)
        return list(groups.values())

    def _numbers_of(self, document: dict[str, Any]) -> Callable[[Any], list[Decimal | None]]:
        """What is measured at every path, for one element after the other; on the fact itself it is so once."""
        roots_of = self._keys.roots_of(document)
        of_fact: dict[str, Decimal | None] = {}

        def numbers(element: Any) -> list[Decimal | None]:
            roots = roots_of(element)
            found = []
            for path, root, get in self._reads:
                number = of_fact.get(path)
                if path not in of_fact:
                    number = _number(path, get(roots[root]))
                    if root == ON_FACT:
                        of_fact[path] = number
                found.append(number)
            return found

        return numbers

    def _entries(self, change: Change, groups: Sequence[_Group]) -> Iterator[Entry]:
        """The contribution to each group, as long as they have not too many bytes together."""
        left = ELEMENT_ENTRIES_MIB_MAX * MIB
        for group in groups:
            contribution = Contribution(group.elements, tuple(map(Amount.of, group.values)))
            plain = self.layout.plain_contribution(contribution)
            columns = contribution_columns(change.columns, self._key_text(group.key), plain)
            raw = canonical_bytes(columns)
            left -= len(raw)
            if left < 0:
                raise too_large(f"its {len(groups)} groups are over {ELEMENT_ENTRIES_MIB_MAX} MiB together")
            if entity_bytes(columns) > ENTITY_BYTES_MAX:
                raise too_large("the values of its key are over 1 MiB")
            yield Entry(
                self._keys.shards.partition_key(group.key.partition, change.fact_hash),
                contribution_key(group.key.sort, change.fact_key),
                columns,
                sha256(raw).hexdigest()[:DIGEST_DIGITS],
            )

    def _key_text(self, key: EntryKeyValues) -> str:
        """The same for every fact of the group: a folded part is shown as it is compared."""
        values = dict(key.values)
        for name in self._folded:
            if values[name] is not None:
                values[name] = folded(cast(str, values[name]))
        return dumps(values)


def _number(path: str, value: object) -> Decimal | None:
    if value is None:
        return None
    number = decimals.exact(value)
    if number is None:
        raise RefusedValueError(f'{value_in_message(value)} at "{path}" is not of type number')
    return number
