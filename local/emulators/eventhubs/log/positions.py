"""Where a consumer starts: the selector filter of its link, and the sequence number that follows from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from local.emulators.eventhubs.amqp.errors import LinkError
from local.emulators.eventhubs.amqp.types import Described

if TYPE_CHECKING:
    from local.emulators.eventhubs.log.hubs import Partition
    from local.emulators.eventhubs.log.store import Column, EventStore

ARGUMENT_ERROR = "com.microsoft:argument-error"
START_OF_STREAM, END_OF_STREAM = "-1", "@latest"

# Python and JavaScript write the value in quotes, .NET without.
_SELECTOR = re.compile(
    r"amqp\.annotation\.x-opt-(?P<name>[a-z-]+) (?P<sign>>=?) (?P<quote>'?)(?P<value>-?\d{1,19}|@latest)(?P=quote)"
)
_COLUMNS: dict[str, Column] = {"sequence-number": "sequence", "offset": "offset", "enqueued-time": "enqueued_ms"}
# The fields of a link's source: the filter is the eighth.
_FILTER_FIELD = 7


@dataclass(frozen=True, slots=True)
class StartPosition:
    """A point in a partition, as a client names it."""

    column: Column
    value: str
    is_inclusive: bool

    def sequence(self, store: EventStore, partition: Partition) -> int:
        """The sequence number of the first event to deliver."""
        if self.value == END_OF_STREAM:
            return partition.next_sequence
        if self.value == START_OF_STREAM:
            return partition.begin_sequence
        self._check(partition)
        return store.first_sequence(partition, self.column, int(self.value), inclusive=self.is_inclusive)

    def _check(self, partition: Partition) -> None:
        """Refuse a place that the log has not reached: a checkpoint of other data would silently skip events."""
        ends = {"sequence": partition.next_sequence, "offset": partition.next_offset}
        end = ends.get(self.column)
        if end is not None and int(self.value) > end:
            raise LinkError(
                ARGUMENT_ERROR,
                f"The supplied {self.column} {self.value} is invalid: the partition ends before {end}. Was the "
                "checkpoint made with other data? Delete it, or start from -1 or @latest.",
            )


_FROM_THE_START = StartPosition("offset", START_OF_STREAM, is_inclusive=False)


def start_position(source: Described | None) -> StartPosition:
    """The start position in the source of an attach; without one, the start of the stream."""
    fields = source.value if source is not None else None
    filters = fields[_FILTER_FIELD] if isinstance(fields, list) and len(fields) > _FILTER_FIELD else None
    for name, value in filters.items() if isinstance(filters, dict) else ():
        if "selector" in str(name):
            return _parsed(value.value if isinstance(value, Described) else value)
    return _FROM_THE_START


def _parsed(selector: object) -> StartPosition:
    text = selector.decode(errors="replace") if isinstance(selector, bytes) else str(selector)
    match = _SELECTOR.fullmatch(text.strip())
    if match is None or match["name"] not in _COLUMNS:
        raise LinkError(ARGUMENT_ERROR, f"The filter {text!r} is not a start position of Event Hubs.")
    return StartPosition(_COLUMNS[match["name"]], match["value"], is_inclusive=match["sign"] == ">=")
