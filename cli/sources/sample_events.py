"""What sample events would become: read and projected as the pipeline will do it, and nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cli.errors import UsageError
from cli.output import wrapped
from cli.sources.event_files import EventFile
from cli.text import json_text
from shared.definitions.suggestions import did_you_mean
from shared.entries.changes.hub_reader import HubReader
from shared.entries.keys.fact_key import MISSING
from shared.entries.projection.generations import plan_of
from shared.entries.projection.project_all import project_all

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from cli.output import Row
    from shared.definitions.model import Definitions, Source
    from shared.entries.changes.change import Change
    from shared.entries.changes.hub_reader import Outcome

COLUMNS: Final = ("event", "source", "becomes", "id", "partitionKey", "version", "entries", "reason")
DEAD_LETTER: Final = "deadLetter"


async def sample_rows(file: Path, definitions: Definitions, source: str | None) -> AsyncIterator[dict[str, Any]]:
    """A row for each event and each source of the hub; raises `UsageError`."""
    if not file.is_file():
        raise UsageError(f"there is no file {file}: write one event per line, in JSON")
    chosen = _chosen(definitions, source)
    reader = HubReader.of(chosen, definitions)
    number = 0
    async for page in EventFile(file, needs_times=False).pages(chosen, file.name):
        for event in page.events:
            number += 1
            for name, outcome in reader.read(event).items():
                yield {"event": number, "source": name, **_shown(outcome, name, definitions)}


def is_dead_letter(row: Row) -> bool:
    """Whether the event could not be read, or does not fit an index."""
    return row["reason"] is not None


def as_text(row: Row) -> str:
    """A line for people, with the reason below it."""
    head = f"{row['event']}  {row['source']}: {'dead letter' if row['becomes'] == DEAD_LETTER else row['becomes']}"
    if row["id"] is not None:
        key = json_text(row["partitionKey"])
        entries = ", ".join(f"{index} {count}" for index, count in row["entries"].items()) or "none"
        head += f" {row['id']}  partition key {key}  version {row['version']}  entries: {entries}"
    return head if row["reason"] is None else f"{head}\n{wrapped(row['reason'], '    ')}"


def _chosen(definitions: Definitions, name: str | None) -> Source:
    """A source of the hub that the events are from."""
    fed = {source.name: source for source in definitions.sources.values() if source.event_hub}
    if not fed:
        raise UsageError('no source has an event hub: give one an "eventHub"')
    if name is not None:
        if name not in fed:
            raise UsageError(f"no source {name} has an event hub. {did_you_mean(name, fed)}")
        return fed[name]
    if len(definitions.hubs()) > 1:
        hubs = ", ".join(definitions.hubs())
        raise UsageError(f"there are several hubs ({hubs}): name a --source of the one that the events are from")
    return next(iter(fed.values()))


def _shown(outcome: Outcome, source: str, definitions: Definitions) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(("id", "partitionKey", "version", "entries", "reason"))
    if outcome is None:
        return {"becomes": "ignored", **empty}
    if isinstance(outcome, Exception):
        return {"becomes": DEAD_LETTER, **empty, "reason": str(outcome)}
    return {
        "becomes": "delete" if outcome.is_delete else "upsert",
        "id": outcome.id,
        "partitionKey": [{} if value is MISSING else value for value in outcome.partition_key],
        "version": outcome.version,
        **_projected(outcome, source, definitions),
    }


def _projected(change: Change, source: str, definitions: Definitions) -> dict[str, Any]:
    """How many entries the fact has in each index; an index that it does not fit has a reason instead."""
    projected = project_all(change, plan_of(definitions, source))
    entries = {found.generation.index.name: len(found.entries) for found in projected if found.failure is None}
    reasons = [found.failure.reason for found in projected if found.failure is not None]
    return {"entries": entries, "reason": " ".join(reasons) or None}
