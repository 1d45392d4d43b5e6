"""The keys that a fact has in one index: expressions evaluated, values coerced and encoded.

The steps for each element (a fact without `each` has one, itself): evaluate `where` and all parts; leave it
out when one is null and not kept; coerce, or refuse the fact; encode; keep the first element of each key. What
depends on the fact alone is done once, when the first element needs it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from shared.definitions.field_paths import segments
from shared.definitions.instants import unix_seconds
from shared.definitions.values import COERCIONS, REFUSED, to_datetime
from shared.entries.changes.paths import compile_condition, compile_dotted, compile_path, too_costly
from shared.entries.changes.shown_values import expression_in_message, value_in_message
from shared.entries.changes.step_budget import CHARACTERS_PER_STEP, OutOfStepsError, StepBudget, weight
from shared.entries.keys.index_keys import IndexKeys
from shared.entries.keys.limits import SORT_UNITS, cut_to_fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shared.definitions.model import Index, PartType, PartValue
    from shared.entries.changes.paths import Getter

    Compiled = TypeVar("Compiled", bound=Callable[[Any], Any])
    # A part of a key: its name, its value, and how the key spells it.
    _Made: TypeAlias = tuple[str, PartValue | None, str]
    # The fact, the element, and the fact with the element in it.
    Roots: TypeAlias = tuple[Any, Any, Any]

# What an expression is evaluated on: the fact, the element, or the fact with the element in it.
ON_FACT: Final = 0
_ELEMENT: Final = 1
_BOTH: Final = 2

# The ledger takes no more per fact, over all indexes.
ENTRIES_MAX: Final = 1000
# Elements without an entry of their own (left out, or with the key of another) take their time as well.
ELEMENTS_MAX: Final = 20 * ENTRIES_MAX


# A value becomes a part of a key in so many microseconds, on every element again.
_PART_STEPS: Final[dict[PartType, int]] = {"string": 2, "integer": 1, "number": 2, "boolean": 1, "datetime": 5}


class RefusedValueError(ValueError):
    """A value does not have its part's type; the message names path, value and type."""


class TooManyEntriesError(ValueError):
    """A fact has more entries or elements than it may; the message says how many."""


class EntryKeyValues(NamedTuple):
    """One key of a fact: encoded, as typed values by part name, the element that it comes from, and until when."""

    partition: str
    sort: str
    values: dict[str, PartValue | None]
    element: Any
    expires_seconds: int | None = None


class _OfFact:
    """What the fact alone gives to the keys of all its elements, as far as it was needed yet."""

    __slots__ = ("expires_seconds", "found", "has_expires", "made")

    def __init__(self, parts: int) -> None:
        self.found: list[Any] | None = None
        self.made: list[_Made | None] = [None] * parts
        self.has_expires = False
        self.expires_seconds: int | None = None


class KeyValueReader:
    """Finds the keys of facts in one index."""

    def __init__(self, index: Index) -> None:
        self._each = index.each
        self._budget = StepBudget()
        self._elements = None if index.each is None else compile_path(index.each.path, self._budget)
        self._weighs_elements = index.each is not None and segments(index.each.path) is None
        self._where = None if index.where is None else self._compile(index.where, compile_condition)
        keys = IndexKeys(index)
        codecs = keys.partition_codecs + keys.sort_codecs
        # Unpacked in the loops below, because a tuple's items cost less than attributes.
        self._reads = [self._compile(codec.part.path, compile_path) for codec in codecs]
        self._element_reads = [(at, *read) for at, read in enumerate(self._reads) if read[0] != ON_FACT]
        self._makes = [(codec.part, codec.part.name, COERCIONS[codec.part.type], codec.encode) for codec in codecs]
        self._element_steps = sum(_PART_STEPS[codecs[at].part.type] for at, *_ in self._element_reads)
        self._expire = index.expire
        self._expires = None if index.expire is None else self._compile(index.expire.path, compile_path)
        roots = [root for root, _ in [*self._reads, *(read for read in (self._where, self._expires) if read)]]
        self._needs_both = _BOTH in roots
        measured = [measure.path or "" for measure in index.summarize or ()]
        paths = [index.where or "", *(codec.part.path for codec in codecs), index.expire.path if index.expire else ""]
        paths += measured
        self._is_counted = index.each is not None or any(path and segments(path) is None for path in paths)
        self._partition_parts = len(index.partition)
        self.shards = keys.shards

    def _compile(self, text: str, compiled: Callable[[str, StepBudget], Compiled]) -> tuple[int, Compiled | Getter]:
        """What an expression is evaluated on, and how."""
        if self._each is None:
            return ON_FACT, compiled(text, self._budget)
        names = segments(text)
        if names is None:
            is_mentioned = re.search(rf"\b{re.escape(self._each.name)}\b", text)
            return (_BOTH if is_mentioned else ON_FACT), compiled(text, self._budget)
        if names[0] != self._each.name:
            return ON_FACT, compiled(text, self._budget)
        return _ELEMENT, compile_dotted(names[1:])

    def keys(self, document: dict[str, Any]) -> list[EntryKeyValues]:
        """The distinct keys of a fact, in the order of its elements.

        Raises `EvaluationError`, `RefusedValueError` and `TooManyEntriesError`.
        """
        if self._is_counted:
            self._budget.refill()
        if self._each is None:
            key = self._key((document, None, document))
            return [] if key is None else [key]
        found: dict[tuple[str, str], EntryKeyValues] = {}
        for key in self._element_keys(document):
            found.setdefault((key.partition, key.sort), key)
        return list(found.values())

    def keys_of_all(self, document: dict[str, Any]) -> Iterator[EntryKeyValues]:
        """The key of every element, also where several have the same one; raises what `keys` raises."""
        if self._each is None:
            yield from self.keys(document)
            return
        self._budget.refill()
        yield from self._element_keys(document)

    def compiled(self, path: str) -> tuple[int, Getter]:
        """What another path is evaluated on, and how; counted with the keys."""
        root, get = self._compile(path, compile_path)
        self._needs_both |= root == _BOTH
        return root, get

    def roots_of(self, document: dict[str, Any]) -> Callable[[Any], Roots]:
        """What expressions are evaluated on, for one element after the other: the fact is copied once for all of them,
        and has the last one in it."""
        if self._each is None:
            return lambda element: (document, element, document)
        name = self._each.name
        both = dict(document) if self._needs_both else {}

        def roots(element: Any) -> Roots:
            both[name] = element
            return document, element, both

        return roots

    def _element_keys(self, document: dict[str, Any]) -> Iterator[EntryKeyValues]:
        elements = self._listed_elements(document)
        if not elements or not self._holds_for_all(document):
            return
        if len(elements) > ELEMENTS_MAX:
            raise TooManyEntriesError(f"it has {len(elements)} elements, over the limit of {ELEMENTS_MAX}")
        of_fact = _OfFact(len(self._reads))
        roots = self.roots_of(document)
        found: set[tuple[str, str]] = set()
        for element in elements:
            key = self._element_key(roots(element), of_fact)
            if key is not None:
                found.add((key.partition, key.sort))
                if len(found) > ENTRIES_MAX:
                    raise TooManyEntriesError(
                        f"its {len(elements)} elements give entries over the limit of {ENTRIES_MAX}"
                    )
                yield key

    def _listed_elements(self, document: dict[str, Any]) -> list[Any]:
        """The elements, before anything is evaluated on one. An expression may have made them larger than the fact."""
        assert self._each is not None and self._elements is not None
        elements = _listed(self._elements(document))
        if self._weighs_elements:
            try:
                self._budget.spend(weight(elements, self._budget.left))
            except OutOfStepsError as error:
                raise too_costly(self._each.path) from error
        return elements

    def _holds_for_all(self, document: dict[str, Any]) -> bool:
        """False when `where` leaves out the fact with all its elements."""
        return self._where is None or self._where[0] != ON_FACT or bool(self._where[1](document))

    def _element_key(self, roots: Roots, of_fact: _OfFact) -> EntryKeyValues | None:
        """The key of one element of `each`, or None when it has no entry."""
        if self._where is not None and self._where[0] != ON_FACT and not self._where[1](roots[self._where[0]]):
            return None
        if of_fact.found is None:
            of_fact.found = [get(roots[root]) for root, get in self._reads]
            found = of_fact.found
        else:
            found = of_fact.found.copy()
            for at, root, get in self._element_reads:
                found[at] = get(roots[root])
        if None in found and self._is_left_out(found):
            return None
        values: dict[str, PartValue | None] = {}
        texts = []
        units = 0
        for at, value in enumerate(found):
            name, typed, text = of_fact.made[at] or self._make(at, value, of_fact)
            values[name] = typed
            texts.append(text)
            units += len(text)
        self._spend(self._element_steps + units // CHARACTERS_PER_STEP, texts)
        split = self._partition_parts
        return EntryKeyValues(
            cut_to_fit("".join(texts[:split]), self.shards.partition_units),
            cut_to_fit("".join(texts[split:]), SORT_UNITS),
            values,
            roots[_ELEMENT],
            None if self._expires is None else self._element_expires(self._expires, roots, of_fact),
        )

    def _spend(self, steps: int, texts: list[str]) -> None:
        """Long values are cut, hashed and stored again for every element, also those of the fact itself."""
        try:
            self._budget.spend(steps)
        except OutOfStepsError as error:
            longest = max(range(len(texts)), key=lambda at: len(texts[at]))
            raise too_costly(self._makes[longest][0].path) from error

    def _make(self, at: int, value: Any, of_fact: _OfFact) -> _Made:
        """A part's value and its text; of a part of the fact itself for all elements."""
        part, name, coerce, encode = self._makes[at]
        typed = None if value is None else coerce(value)
        if typed is REFUSED:
            raise _refused(part.path, part.type, value)
        made = (name, typed, encode(typed))
        if self._reads[at][0] == ON_FACT:
            of_fact.made[at] = made
        return made

    def _element_expires(self, path: tuple[int, Getter], roots: Roots, of_fact: _OfFact) -> int | None:
        if path[0] != ON_FACT:
            return self._expires_seconds(path, roots)
        if not of_fact.has_expires:
            of_fact.expires_seconds, of_fact.has_expires = self._expires_seconds(path, roots), True
        return of_fact.expires_seconds

    def _key(self, roots: Roots) -> EntryKeyValues | None:
        """The key of a fact without `each`, or None when it has no entry."""
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
                raise _refused(part.path, part.type, value)
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

    def _expires_seconds(self, path: tuple[int, Getter], roots: Roots) -> int | None:
        """When the entry goes, in seconds since 1970; a fact without that time keeps its entry."""
        assert self._expire is not None
        root, get = path
        value = get(roots[root])
        if value is None:
            return None
        instant = to_datetime(value)
        if isinstance(instant, str):
            return unix_seconds(instant) + self._expire.after_seconds
        raise _refused(self._expire.path, "datetime", value)

    def _is_left_out(self, found: list[Any]) -> bool:
        """Whether a part is null that does not keep nulls. It decides before types do: nothing is indexed."""
        parts = [part for part, *_ in self._makes]
        return any(v is None and not part.keeps_nulls for part, v in zip(parts, found, strict=True))


def _listed(value: Any) -> list[Any]:
    """The elements of an array; a scalar counts as an array of one, nothing as none."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _refused(path: str, wanted: str, value: object) -> RefusedValueError:
    return RefusedValueError(f"{value_in_message(value)} at {expression_in_message(path)} is not of type {wanted}")
