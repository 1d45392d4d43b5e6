"""A file of events is read in pages, from where an earlier build stopped; what is wrong is told with its line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from cli.errors import UsageError
from cli.sources.event_files import EventFile
from shared.definitions.model import Events, Source
from shared.sources.hub_events import PAGE_EVENTS

if TYPE_CHECKING:
    from pathlib import Path

    from shared.sources.hub_events import EventPage

DECLARED = Source("orders", event_hub="orders", version="revision")
BY_TIME = Source("orders", event_hub="orders")


def line(number: int) -> str:
    """An event as a hub kept it."""
    return json.dumps({"body": {"id": str(number)}, "enqueued": "2026-11-01T10:00:00Z", "sequenceNumber": number})


async def pages(file: Path, source: Source, continuation: str | None = None) -> list[EventPage]:
    """All pages from there on."""
    return [page async for page in EventFile(file).pages(source, "file", continuation)]


async def test_events_come_as_the_hub_kept_them(tmp_path: Path) -> None:
    """With their own times and numbers; empty lines are nothing."""
    file = tmp_path / "events.jsonl"
    file.write_text(f"{line(7)}\n\n{line(8)}\n", encoding="utf-8")
    (page,) = await pages(file, BY_TIME)
    assert [one.sequence_number for one in page.events] == [7, 8]
    assert page.events[0].enqueued == datetime(2026, 11, 1, 10, tzinfo=UTC)
    assert json.loads(page.events[1].body) == {"id": "8"}


async def test_reading_goes_on_after_a_page(tmp_path: Path) -> None:
    """Nothing twice, nothing missing."""
    file = tmp_path / "events.jsonl"
    file.write_text("\n".join(line(number) for number in range(PAGE_EVENTS + 5)), encoding="utf-8")
    first, second = await pages(file, BY_TIME)
    assert (len(first.events), len(second.events)) == (PAGE_EVENTS, 5)
    assert await pages(file, BY_TIME, first.continuation) == [second]
    assert await pages(file, BY_TIME, second.continuation) == []


async def test_an_envelope_alone_is_enough_when_versions_are_declared(tmp_path: Path) -> None:
    """It is as old as the file."""
    file = tmp_path / "events.jsonl"
    file.write_text('{"op": "upsert", "id": "1", "version": 3, "document": {}}\n', encoding="utf-8")
    (page,) = await pages(file, DECLARED)
    assert json.loads(page.events[0].body)["version"] == 3
    with pytest.raises(UsageError, match='line 1 has no "enqueued"'):
        await pages(file, BY_TIME)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[1]", "line 1 is not a JSON object"),
        ("{", "line 1 is not a JSON object"),
        ('{"body": {}, "enqueued": "soon", "sequenceNumber": 1}', '"enqueued" is not an ISO 8601 time'),
        ('{"body": {}, "enqueued": "2026-11-01T10:00:00Z"}', '"sequenceNumber" is not a whole number'),
    ],
)
async def test_what_is_no_event_is_told_with_its_line(tmp_path: Path, text: str, fault: str) -> None:
    """Before anything of its page is applied."""
    file = tmp_path / "events.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=fault):
        await pages(file, BY_TIME)


async def test_a_line_may_have_a_key_and_properties(tmp_path: Path) -> None:
    """As a dead letter keeps an event; the key may be JSON."""
    file = tmp_path / "events.jsonl"
    kept = {"bodyBase64": "e30=", "key": {"id": 1}, "properties": {"ce_type": "t"}}
    file.write_text(json.dumps({**kept, "enqueued": "2026-11-01T10:00:00+01:00", "sequenceNumber": 3}))
    ((event,),) = [page.events for page in await pages(file, BY_TIME)]
    assert (event.body, event.key, event.properties) == (b"{}", '{"id": 1}', {"ce_type": "t"})


async def test_a_document_with_a_body_of_its_own_is_no_recorded_event(tmp_path: Path) -> None:
    """Nor is one of a source whose events carry the clock of their database without times."""
    file = tmp_path / "events.jsonl"
    file.write_text('{"id": 1, "body": "text"}\n{"op": "d"}\n')
    ((first, second),) = [page.events for page in await pages(file, Source("rows", events=Events("debezium")))]
    assert (json.loads(first.body)["body"], json.loads(second.body)) == ("text", {"op": "d"})


async def test_samples_need_no_times(tmp_path: Path) -> None:
    """They are as old as the file, in the order of its lines."""
    file = tmp_path / "events.jsonl"
    file.write_text('{"id": "1"}\n{"body": {"id": "2"}}\n')
    samples = [page async for page in EventFile(file, needs_times=False).pages(BY_TIME, "file")]
    assert [event.sequence_number for page in samples for event in page.events] == [1, 2]
