"""`index-tables build --from`: facts whose events the hub has forgotten come from a file of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from shared.entries.changes.received_event import ReceivedEvent
from tests.contract.tables.table_services import key_client
from tests.support import ROOT
from tests.worlds.building import BuildingWorld

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """
version: 1
sources: {SOURCE: {eventHub: people, partitionKey: id}}
indexes: {by-town-SOURCE: {source: SOURCE, partition: town, project: [PROJECTED]}}
"""


def kept_event(number: int, fact: str, **document: str) -> dict[str, Any]:
    """An event as a line of an export has it."""
    body = {"op": "upsert", "document": {"id": fact, "town": "Lund", **document}}
    enqueued = datetime.fromtimestamp(int(time.time()) - 100 + number, UTC)
    return {"body": body, "enqueued": enqueued.isoformat(), "sequenceNumber": number}


def received(event: dict[str, Any]) -> ReceivedEvent:
    """The same event as the trigger brings it."""
    body = json.dumps(event["body"]).encode()
    return ReceivedEvent(body, datetime.fromisoformat(event["enqueued"]), event["sequenceNumber"])


async def test_a_new_generation_is_built_from_a_file_of_events(azurite: str, tmp_path: Path) -> None:
    """Of each fact the newest event counts; one that changed after the export is as the ledger has it."""
    source = f"p{uuid4().hex[:12]}"
    old, new = (TEXT.replace("SOURCE", source).replace("PROJECTED", field) for field in ("phone", "email"))
    events = [kept_event(1, "a", email="1"), kept_event(2, "a", email="2"), kept_event(3, "b", email="3")]
    file, definitions = tmp_path / "events.jsonl", tmp_path / "indexes.yaml"
    file.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    definitions.write_text(new)
    async with key_client(azurite) as tables:
        world = BuildingWorld(tables, source=source)
        # Long enough ago for every worker to know the new generation.
        world.seconds = time.time() - 1000
        await (await world.worker(old)).apply_events("people", [received(event) for event in events])
        await (await world.worker(new)).apply_events("people", [received(kept_event(4, "b", email="4"))])
        row = build(azurite, source, definitions, file)
        assert (row["state"], row["facts"], row["entries"], row["unbuilt"]) == ("standby", 3, 1, 0)
        assert await world.entries(row["generation"]) == {"a": {"email": "2"}, "b": {"email": "4"}}


def build(storage: str, source: str, definitions: Path, events: Path) -> dict[str, Any]:
    """The command, with the settings of an app; how the index stands after it."""
    environment = {
        **os.environ,
        "AzureWebJobsStorage": storage,
        "INDEX_STORAGE": storage,
        "AZURE_FUNCTIONS_ENVIRONMENT": "Development",
    }
    command = [sys.executable, "-m", "cli", "build", f"by-town-{source}", "--from", str(events), "--azure"]
    command += ["--definitions", str(definitions), "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    row: dict[str, Any] = json.loads(done.stdout)[0]
    return row
