"""Prints the changes of a source as they arrive, up to a number of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from cli.definitions import definitions_file, read
from cli.output import discard_output
from cli.sources.connections import cosmos_connection, event_hubs_connection, named_source
from cli.text import json_text, visible_lines

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from cli.arguments import Arguments
    from cli.sources.follower import FollowedItem
    from shared.entries.changes.change import Change

_SIGNS: Final = {"upsert": "~", "delete": "-", "unreadable": "!"}


async def follow_source(args: Arguments) -> None:
    """Follow the container of the source, its hub, or both; raises `FactsUnavailableError`."""
    from cli.sources.follower import Follower

    definitions = read(definitions_file(args)).require()
    source = named_source(args, definitions)
    printer = _Printer(args.format, args.changes)
    follower = Follower(source, definitions, args.from_beginning, printer.show)
    feeds = []
    if source.cosmos is not None:
        feeds.append(follower.follow_container(cosmos_connection(args)))
    if source.event_hub is not None:
        feeds.append(follower.follow_hub(event_hubs_connection(args)))
    await _run_until(printer.enough, feeds)


class _Printer:
    """Prints items until there were enough of them."""

    def __init__(self, output_format: str, most: int | None) -> None:
        self._format = output_format
        self._most = most
        self._count = 0
        self.enough = asyncio.Event()

    def show(self, item: FollowedItem) -> None:
        if self.enough.is_set():
            return
        try:
            print(_line(item, self._format), flush=True)
        except BrokenPipeError:
            # The reader (`| head`) has closed the pipe. Raised here, it would look like a failure of the feed or hub.
            discard_output()
            self.enough.set()
        self._count += 1
        if self._count == self._most:
            self.enough.set()


async def _run_until(enough: asyncio.Event, feeds: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Follow container and hub at once; the first failure is raised."""
    tasks: list[asyncio.Task[Any]] = [asyncio.create_task(work) for work in (enough.wait(), *feeds)]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


def _line(item: FollowedItem, output_format: str) -> str:
    row = _row(item)
    if output_format == "jsonl":
        return _json(row)
    texts = [row["reason"]] if item.change is None else [row["id"], _json(row["partitionKey"])]
    if row.get("document") is not None:
        texts.append(_json(row["document"]))
    return visible_lines("  ".join([f"{_SIGNS[row['op']]} {row['from']}", *texts]))


def _row(item: FollowedItem) -> dict[str, Any]:
    if item.change is None:
        return {"op": "unreadable", "from": item.origin, "reason": item.reason}
    change: Change = item.change
    return {
        "op": "delete" if change.is_delete else "upsert",
        "id": change.id,
        "partitionKey": _partition_key(change),
        "version": change.version,
        "from": item.origin,
        "document": _document(change),
    }


def _partition_key(change: Change) -> list[Any]:
    from shared.entries.keys.fact_key import MISSING

    # Cosmos DB writes a missing value as {}, too.
    return [{} if value is MISSING else value for value in change.partition_key]


def _document(change: Change) -> dict[str, Any] | None:
    from shared.entries.changes.change import own_properties

    return None if change.document is None else own_properties(change.document)


def _json(value: Any) -> str:
    return json_text(value)
