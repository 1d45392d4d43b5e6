"""A file of events, one JSON object per line: samples, or for builds of sources whose events have expired in the hub.

A line is an event as the hub kept it, `{"body": …, "enqueued": "…", "sequenceNumber": n}`, perhaps with its `key` and
its `properties`, or the body alone. A build needs times and numbers where they order the events, and continues at the
line after the last one that was applied.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cli.errors import UsageError
from shared.definitions.instants import normalise
from shared.entries.changes.received_event import ReceivedEvent, is_plain_event
from shared.sources.hub_events import PAGE_EVENTS, EventPage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from shared.definitions.model import Source


class EventFile:
    """The port `EventReplay` over a file."""

    def __init__(self, path: Path, *, needs_times: bool = True) -> None:
        self._path = path
        self._needs_times = needs_times

    async def partitions(self, source: Source) -> list[str]:
        """The file is the only one."""
        return [self._path.name]

    async def pages(
        self, source: Source, partition: str, continuation: str | None = None, page_events: int = PAGE_EVENTS
    ) -> AsyncGenerator[EventPage, None]:
        """A thousand lines at a time, or fewer; the continuation is a line's number and where it begins."""
        number, offset = json.loads(continuation or "[0, 0]")
        # A line without a time gets the time of the file.
        written = datetime.fromtimestamp(self._path.stat().st_mtime, UTC)
        with self._path.open("rb") as file:
            file.seek(offset)
            events: list[ReceivedEvent] = []
            for line in iter(file.readline, b""):
                number += 1
                if line.strip():
                    events.append(self._event(source, line, number, written))
                if len(events) == page_events:
                    yield EventPage(events, json.dumps([number, file.tell()]))
                    events = []
            if events:
                yield EventPage(events, json.dumps([number, file.tell()]))

    def _event(self, source: Source, line: bytes, number: int, written: datetime) -> ReceivedEvent:
        found = _parsed(line)
        if not isinstance(found, dict):
            if self._needs_times:
                raise UsageError(f"{self._path}, line {number} is not a JSON object: write one event per line")
            # Of a sample the reader says what is wrong, and reads JSON that was encoded twice.
            return ReceivedEvent(line, written, number)
        if is_plain_event(found):
            return self._recorded(found, number, written)
        if self._needs_times and source.version is None and source.events.form != "debezium":
            raise UsageError(
                f'{self._path}, line {number} has no "enqueued" and "sequenceNumber", which order the events of '
                f'source "{source.name}": export them with each event'
            )
        return ReceivedEvent(line, written, number)

    def _recorded(self, found: dict[str, Any], number: int, written: datetime) -> ReceivedEvent:
        if not self._needs_times:
            found = {"enqueued": written.isoformat(), "sequenceNumber": number, **found}
        instant = normalise(str(found.get("enqueued")))
        if instant is None:
            raise UsageError(f'{self._path}, line {number}: "enqueued" is not an ISO 8601 time')
        if type(found.get("sequenceNumber")) is not int:
            raise UsageError(f'{self._path}, line {number}: "sequenceNumber" is not a whole number')
        moment = datetime.fromisoformat(instant)
        enqueued = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        try:
            return ReceivedEvent.from_plain({**found, "enqueued": enqueued.isoformat()})
        except (ValueError, TypeError) as error:
            raise UsageError(f"{self._path}, line {number} is not an event that a hub kept: {error}") from error


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
