"""The keys that a fact has in one index: expressions evaluated, values coerced and encoded.

The steps for each element (a fact without `each` has one, itself): evaluate `where` and all parts; leave it
out when one is null and not kept; coerce, or refuse the fact; encode; keep the first element of each key.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from shared.definitions.field_paths import segments
from shared.definitions.instants import unix_seconds
from shared.definitions.values import COERCIONS, REFUSED, to_datetime
from shared.entries.changes.paths import compile_condition, compile_dotted, compile_path
from shared.entries.changes.shown_values import value_in_message
from shared.entries.keys.index_keys import IndexKeys
from shared.entries.keys.limits import SORT_UNITS, cut_to_fit

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.definitions.model import Index, KeyPart, PartValue
    from shared.entries.changes.paths import Getter

    Compiled = TypeVar("Compiled", bound=Callable[[Any], Any])

# What an expression is evaluated on: the fact, the element, or the fact with the element in it.
_FACT: Final = 0
_ELEMENT: Final = 1
_BOTH: Final = 2


class RefusedValueError(ValueError):
    """A value does not have its part's type; the message names path, value and type."""


class EntryKeyValues(NamedTuple):
    """One key of a fact: encoded, as typed values by part name, the element that it comes from, and until when."""

    partition: str
    sort: str
    values: dict[str, PartValue | None]
    element: Any
    expires_seconds: int | None = None


class KeyValueReader:
    """Finds the keys of facts in one index."""

    def __init__(self, index: Index) -> None:
        self._each = index.each
        self._elements = None if index.each is None else compile_path(index.each.path)
        self._where = None if index.where is None else self._compile(index.where, compile_condition)
        keys = IndexKeys(index)
        codecs = keys.partition_codecs + keys.sort_codecs
        # Unpacked in the loops below, because a tuple's items cost less than attributes.
        self._reads = [self._compile(codec.part.path, compile_path) for codec in codecs]
        self._makes = [(codec.part, codec.part.name, COERCIONS[codec.part.type], codec.encode) for codec in codecs]
        self._expire = index.expire
        self._expires = None if index.expire is None else self._compile(index.expire.path, compile_path)
        roots = [root for root, _ in [*self._reads, *(read for read in (self._where, self._expires) if read)]]
        self._needs_both = _BOTH in roots
        self._partition_parts = len(index.partition)
        self.shards = keys.shards

    def _compile(self, text: str, compiled: Callable[[str], Compiled]) -> tuple[int, Compiled | Getter]:
        """What an expression is evaluated on, and how."""
        if self._each is None:
            return _FACT, compiled(text)
        names = segments(text)
        if names is None:
            is_mentioned = re.search(rf"\b{re.escape(self._each.name)}\b", text)
            return (_BOTH if is_mentioned else _FACT), compiled(text)
        if names[0] != self._each.name:
            return _FACT, compiled(text)
        return _ELEMENT, compile_dotted(names[1:])

    def keys(self, document: dict[str, Any]) -> list[EntryKeyValues]:
        """The distinct keys of a fact, in the order of its elements; raises `RefusedValueError`."""
        if self._each is None or self._elements is None:
            key = self._key((document, None, document))
            return [] if key is None else [key]
        found: dict[tuple[str, str], EntryKeyValues] = {}
        for element in _listed(self._elements(document)):
            both = {**document, self._each.name: element} if self._needs_both else None
            key = self._key((document, element, both))
            if key is not None:
                found.setdefault((key.partition, key.sort), key)
        return list(found.values())

    def _key(self, roots: tuple[Any, Any, Any]) -> EntryKeyValues | None:
        """The key of one element, or None when it has no entry."""
        if self._where is not None and not self._where[1](roots[self._where[0]]):
            return None
        found = [get(roots[root]) for root, get in self._reads]
        if None in found and self._is_left_out(found):
            return None
        values: dict[str, PartValue | None] = {}
        texts = []
        for (part, name, coerce, encode), value in zip(self._makes, found, strict=True):
            typed = None if value is None else coerce(value)
            if typed is REFUSED:
                raise _refused(part, value)
            values[name] = typed
            texts.append(encode(typed))
        split = self._partition_parts
        return EntryKeyValues(
            cut_to_fit("".join(texts[:split]), self.shards.partition_units),
            cut_to_fit("".join(texts[split:]), SORT_UNITS),
            values,
            roots[_ELEMENT],
            None if self._expires is None else self._expires_seconds(self._expires, roots),
        )

    def _expires_seconds(self, path: tuple[int, Getter], roots: tuple[Any, Any, Any]) -> int | None:
        """When the entry goes, in seconds since 1970; a fact without that time keeps its entry."""
        assert self._expire is not None
        root, get = path
        value = get(roots[root])
        if value is None:
            return None
        instant = to_datetime(value)
        if isinstance(instant, str):
            return unix_seconds(instant) + self._expire.after_seconds
        raise RefusedValueError(f"{value_in_message(value)} at `{self._expire.path}` is not of type datetime")

    def _is_left_out(self, found: list[Any]) -> bool:
        """Whether a part is null that does not keep nulls. It decides before types do: nothing is indexed."""
        parts = [part for part, *_ in self._makes]
        return any(v is None and not part.keeps_nulls for part, v in zip(parts, found, strict=True))


def _listed(value: Any) -> list[Any]:
    """The elements of an array; a scalar counts as an array of one, nothing as none."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _refused(part: KeyPart, value: object) -> RefusedValueError:
    return RefusedValueError(f"{value_in_message(value)} at `{part.path}` is not of type {part.type}")
