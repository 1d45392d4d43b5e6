"""A file of events, for builds of sources whose events have expired in the hub: one JSON object per line.

A line is an event as the hub kept it, `{"body": …, "enqueued": "…", "sequenceNumber": n}`, or, for a source that
declares `version`, the event's envelope alone. A build continues at the line after the last one that was applied.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cli.errors import UsageError
from shared.definitions.instants import normalise
from shared.sources.hub_events import PAGE_EVENTS, EventPage, HubEvent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from shared.definitions.model import Source


class EventFile:
    """The port `EventReplay` over a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def partitions(self, source: Source) -> list[str]:
        """The file is the only one."""
        return [self._path.name]

    async def pages(
        self, source: Source, partition: str, continuation: str | None = None, page_events: int = PAGE_EVENTS
    ) -> AsyncIterator[EventPage]:
        """A thousand lines at a time, or fewer; the continuation is a line's number and where it begins."""
        number, offset = json.loads(continuation or "[0, 0]")
        # A line without a time gets the time of the file.
        written = datetime.fromtimestamp(self._path.stat().st_mtime, UTC)
        with self._path.open("rb") as file:
            file.seek(offset)
            events: list[HubEvent] = []
            for line in iter(file.readline, b""):
                number += 1
                if line.strip():
                    events.append(self._event(source, line, number, written))
                if len(events) == page_events:
                    yield EventPage(events, json.dumps([number, file.tell()]))
                    events = []
            if events:
                yield EventPage(events, json.dumps([number, file.tell()]))

    def _event(self, source: Source, line: bytes, number: int, written: datetime) -> HubEvent:
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise UsageError(f"{self._path}, line {number} is no JSON object: write one event per line")
        if "body" not in found:
            if source.version is None:
                raise UsageError(
                    f"{self._path}, line {number} has no `enqueued` and `sequenceNumber`, which order the events of "
                    f'source "{source.name}": export them with each event'
                )
            return HubEvent(line, written, number)
        return HubEvent(_body(found["body"]), self._enqueued(found, number), self._sequence_number(found, number))

    def _enqueued(self, found: dict[str, Any], number: int) -> datetime:
        instant = normalise(str(found.get("enqueued")))
        if instant is None:
            raise UsageError(f"{self._path}, line {number}: `enqueued` is no ISO 8601 time")
        moment = datetime.fromisoformat(instant)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def _sequence_number(self, found: dict[str, Any], number: int) -> int:
        sequence_number = found.get("sequenceNumber")
        if type(sequence_number) is not int:
            raise UsageError(f"{self._path}, line {number}: `sequenceNumber` is no whole number")
        return sequence_number


def _body(body: object) -> bytes:
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()
