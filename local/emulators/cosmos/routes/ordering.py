"""Places in the order of an ordered query, and the place from which a client resumes in a range.

Where sort keys are equal, items stand in the order of their creation, or in the opposite order when the first key
descends: clients that merge ranges rely on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from local.emulators.cosmos.data.resource_ids import item_serial
from local.emulators.cosmos.errors import BadRequestError
from local.emulators.cosmos.sql.values import UNDEFINED, sort_key

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Place:
    """Where an item stands: its sort keys and its serial number."""

    sort_keys: list[tuple[int, Any]]
    serial: int


@dataclass(frozen=True, slots=True)
class PlaceOrder:
    """The order of places: one direction for each sort key."""

    descending: tuple[bool, ...]

    @property
    def is_reversed(self) -> bool:
        """Whether items with equal sort keys come newest first."""
        return self.descending[:1] == (True,)

    @property
    def key(self) -> Callable[[Place], Any]:
        return cmp_to_key(self.compare)

    def compare(self, left: Place, right: Place) -> int:
        """Below 0 when `left` comes first."""
        by_keys = self.compare_keys(left, right)
        by_serial = (left.serial > right.serial) - (left.serial < right.serial)
        return by_keys or (-by_serial if self.is_reversed else by_serial)

    def compare_keys(self, left: Place, right: Place) -> int:
        """The same, where items with equal sort keys are not told apart."""
        for mine, other, is_descending in zip(left.sort_keys, right.sort_keys, self.descending, strict=True):
            if mine != other:
                return 1 if (mine > other) != is_descending else -1
        return 0


@dataclass(frozen=True, slots=True)
class Resume:
    """From where a range goes on for a client that keeps the place of its last result itself, as .NET does.

    Without the serial number of an item, all items with these sort keys are meant.
    """

    sort_keys: list[tuple[int, Any]]
    serial: int | None
    excludes: bool

    @classmethod
    def of(cls, given: Any, key_count: int) -> Resume:
        """The `resumeFilter` of a request: `{"value": [...], "rid": "...", "exclude": true}`."""
        values = given.get("value") if isinstance(given, dict) else None
        if not isinstance(values, list) or not len(values) == key_count > 0:
            raise BadRequestError('"resumeFilter" must have a "value" for each path of ORDER BY.')
        rid, excludes = given.get("rid"), given.get("exclude", False)
        if not isinstance(rid, (str, type(None))) or not isinstance(excludes, bool):
            raise BadRequestError('"rid" of "resumeFilter" must be a resource id, and "exclude" a boolean.')
        return cls([_sort_key(value) for value in values], None if rid is None else item_serial(rid), excludes)

    def includes(self, place: Place, order: PlaceOrder) -> bool:
        """Whether an item comes after the last result, or is that result and not excluded."""
        here = Place(self.sort_keys, self.serial or 0)
        comes = order.compare_keys(place, here) if self.serial is None else order.compare(place, here)
        return comes > 0 or (comes == 0 and not self.excludes)


def _sort_key(value: Any) -> tuple[int, Any]:
    """The sort key of a value as `resumeFilter` spells it: `[]` is undefined."""
    if value == []:
        return sort_key(UNDEFINED)
    if isinstance(value, (list, dict)):
        raise BadRequestError("The local Cosmos DB does not resume ORDER BY at an array or object.")
    return sort_key(value)
