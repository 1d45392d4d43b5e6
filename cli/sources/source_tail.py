"""The changes of a source, printed as they pass, until enough have passed."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

from cli.definitions import read
from cli.output import discard_output
from cli.sources.sources import cosmos_connection, event_hubs_connection, named_source

if TYPE_CHECKING:
    import argparse
    from collections.abc import Coroutine, Sequence

    from cli.sources.passing import Passing
    from shared.entries.changes.change import Change

_SIGNS: Final = {"upsert": "~", "delete": "-", "unreadable": "!"}


async def follow_source(args: argparse.Namespace) -> None:
    """Follow whatever the source has, its container or its hub or both; raises `FactsUnavailableError`."""
    from cli.sources.passing import Follower

    source = named_source(args, read(args.definitions).require())
    shown = _Shown(args.format, args.changes)
    follower = Follower(source, args.from_beginning, shown.show)
    ways = []
    if source.cosmos is not None:
        ways.append(follower.follow_container(cosmos_connection(args)))
    if source.event_hub is not None:
        ways.append(follower.follow_hub(event_hubs_connection(args)))
    await _run_until(shown.enough, ways)


class _Shown:
    """Prints changes until there were enough of them."""

    def __init__(self, output_format: str, most: int | None) -> None:
        self._format = output_format
        self._most = most
        self._count = 0
        self.enough = asyncio.Event()

    def show(self, passing: Passing) -> None:
        if self.enough.is_set():
            return
        try:
            print(_line(passing, self._format), flush=True)
        except BrokenPipeError:
            # The reader (`| head`) has seen enough. Raised here, it would look like a failure of the feed or the hub.
            discard_output()
            self.enough.set()
        self._count += 1
        if self._count == self._most:
            self.enough.set()


async def _run_until(enough: asyncio.Event, ways: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Run all ways at once; the first that fails is the error of all."""
    tasks: list[asyncio.Task[Any]] = [asyncio.create_task(way) for way in (enough.wait(), *ways)]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


def _line(passing: Passing, output_format: str) -> str:
    row = _row(passing)
    if output_format == "jsonl":
        return _json(row)
    texts = [row["reason"]] if passing.change is None else [row["id"], _json(row["partitionKey"])]
    if row.get("document") is not None:
        texts.append(_json(row["document"]))
    return "  ".join([f"{_SIGNS[row['op']]} {row['from']}", *texts])


def _row(passing: Passing) -> dict[str, Any]:
    if passing.change is None:
        return {"op": "unreadable", "from": passing.origin, "reason": passing.reason}
    change: Change = passing.change
    return {
        "op": "delete" if change.is_delete else "upsert",
        "id": change.id,
        "partitionKey": _partition_key(change),
        "version": change.version,
        "from": passing.origin,
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
    return json.dumps(value, ensure_ascii=False)
