"""What the fields of facts are like: how many facts have one, of which types, how many values there are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from shared.definitions.field_paths import quoted
from shared.definitions.instants import normalise
from shared.entries.keys.fact_key import is_encodable
from shared.entries.rows.json_text import dumps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shared.definitions.model import PartType

# Beyond, values are counted without being told apart: there are many.
DISTINCT_MAX: Final = 50_000
_DEEPEST: Final = 3
_PART_TYPES: Final[dict[str, PartType]] = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "datetime": "datetime",
}


@dataclass(slots=True)
class Field:
    """A field of facts, or the elements of one that is a list."""

    names: tuple[str, ...]
    is_list: bool = False
    facts: int = 0
    count: int = 0
    values: Counter[Any] = field(default_factory=Counter)
    types: set[str] = field(default_factory=set)
    longest: int = 0
    shown_last: int = 0

    @property
    def path(self) -> str:
        """As a definition names it."""
        return ".".join(map(quoted, self.names))

    @property
    def name(self) -> str:
        """What to call it: its last names, such as customerId for customer.id."""
        *above, last = self.names[-2:]
        return f"{above[0]}{last[:1].upper()}{last[1:]}" if above else last

    @property
    def distinct(self) -> int:
        """How many values there are, or at least."""
        return len(self.values)

    @property
    def type(self) -> PartType | None:
        """The type that all values have; None when they have no one, or none that a key can hold."""
        if self.types == {"integer", "number"}:
            return "number"
        (only,) = self.types if len(self.types) == 1 else ("object",)
        return _PART_TYPES.get(only)

    @property
    def largest_share(self) -> float:
        """The share of the most frequent value."""
        return max(self.values.values(), default=0) / max(self.count, 1)

    def add(self, value: Any) -> None:
        """Note a value."""
        self.count += 1
        self.types.add(_type_of(value))
        text = value if isinstance(value, str) else dumps(value)
        self.longest = max(self.longest, len(text.encode(errors="surrogatepass")))
        key = text if is_encodable(text) else repr(text)
        if key in self.values or len(self.values) < DISTINCT_MAX:
            self.values[key] += 1


@dataclass(slots=True)
class Profile:
    """All facts of a source in numbers."""

    facts: int = 0
    bytes: int = 0
    fields: dict[tuple[tuple[str, ...], bool], Field] = field(default_factory=dict)
    # By names: whether there are lists, objects, or plain values. A field of several kinds is no key.
    kinds: dict[tuple[str, ...], set[type]] = field(default_factory=dict)

    def share(self, found: Field) -> float:
        """The share of facts that have a field."""
        return found.facts / max(self.facts, 1)

    def of_facts(self, facts: Iterable[dict[str, Any]]) -> Profile:
        """This profile, once it has seen these facts."""
        for fact in facts:
            self.facts += 1
            self.bytes += len(dumps(fact))
            for names, is_list, value in self._values(fact, ()):
                found = self.fields.setdefault((names, is_list), Field(names, is_list))
                if found.shown_last != self.facts:
                    found.shown_last = self.facts
                    found.facts += 1
                found.add(value)
        return self

    def is_of_one_kind(self, found: Field) -> bool:
        """Whether a field is never both a list, or an object, and a plain value."""
        return len(self.kinds[found.names]) == 1

    def _values(self, fact: dict[str, Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], bool, Any]]:
        """Every value that is there, with the names above it; the elements of lists one by one."""
        for name, value in fact.items():
            names = (*above, name)
            if value is None or not name or not is_encodable(name):
                continue
            self.kinds.setdefault(names, set()).add(type(value) if isinstance(value, list | dict) else str)
            if isinstance(value, dict) and len(names) < _DEEPEST:
                yield from self._values(value, names)
            elif isinstance(value, list):
                yield from ((names, True, element) for element in value if element is not None)
            else:
                yield names, False, value


def _type_of(value: Any) -> str:
    """The narrowest type of a key part that has this value; other types have names that no part knows."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        # A year alone is a time to ISO 8601, and a text to people.
        return "datetime" if len(value) >= len("2026-01-01") and normalise(value) else "string"
    return "object"
