"""The OpenAPI document is true: schemathesis calls everything in it, in all ways it can think of."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests

from local.run.azurite import connection_string
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.pipeline.concurrency import AtOnce
from shared.pipeline.dead_letters.open_limit import OpenLimit
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE, dead_letter_of, unreadable_dead_letter
from shared.pipeline.dead_letters.store import DeadLetterStore
from tests.conftest import running_azurite
from tests.contract.tables.table_services import key_client
from tests.functions.apps import serving
from tests.support import ROOT
from tests.worlds.lookup_facts import CUSTOMERS, DEFINITIONS, facts, put_facts
from tests.worlds.world import KeptBlobs

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")


async def fill(storage: str) -> None:
    """Entries, and dead letters of both kinds. Neither can be replayed: the calls change no index."""
    source = DEFINITIONS.sources["customers"]
    change = CosmosReader(source).latest({**CUSTOMERS[0], "_ts": 1_700_000_000, "_lsn": 1})
    async with key_client(storage) as tables:
        await put_facts(tables, facts())
        await tables.create_table(DEAD_LETTER_TABLE)
        store = DeadLetterStore(tables, KeptBlobs(), OpenLimit(), AtOnce(), time.time)
        await store.put(dead_letter_of(change, "customers-by-nothing", "wrongType", "It does not fit."))
        await store.put(unreadable_dead_letter(source.name, {"no": "id"}, "It has no id.", "feed"))


@pytest.fixture
def settings_with_dead_letters(lookup_settings: dict[str, str]) -> Iterator[dict[str, str]]:
    """The app of lookups, with dead letters, on storage of its own: the calls start verifications that never end."""
    with running_azurite() as storage_ports:
        storage = connection_string(storage_ports)
        asyncio.run(fill(storage))
        yield {**lookup_settings, "AzureWebJobsStorage": storage, "INDEX_STORAGE": storage}


def described(url: str, key: str, file: Path) -> Path:
    """The document of the app, but for the body of a 401: that of a platform which checks keys has none."""
    document = requests.get(f"{url}/api/openapi.json", headers={"x-functions-key": key}, timeout=30).json()
    for methods in document["paths"].values():
        for call in methods.values():
            call["responses"].get("401", {}).pop("content", None)
    file.write_text(json.dumps(document))
    return file


def run_schemathesis(settings: dict[str, str], folder: Path, max_examples: int) -> None:
    """Every default check on every call, with function keys checked; fails with its report.

    The seed is fixed: among its wrong data is now and then what is right on the wire, such as `select=false`.
    """
    with serving(ROOT, settings, "--http-only", "--keys", str(folder / "keys.json"), log_folder=folder) as app:
        key = json.loads((folder / "keys.json").read_text())["admin"]
        document = described(app.url, key, folder / "openapi.json")
        program = str(Path(sys.executable).with_name("st"))
        command = [program, "--no-color", "--config-file", str(CONFIGURATION), "run", str(document), "--url", app.url]
        command += ["--header", f"x-functions-key: {key}", "--max-examples", str(max_examples), "--seed", "1"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr


def test_every_call_keeps_the_openapi_document(settings_with_dead_letters: dict[str, str], tmp_path: Path) -> None:
    """No server error, no undocumented status, type or shape; bad data is refused, and so is a missing key."""
    run_schemathesis(settings_with_dead_letters, tmp_path, 20)


@pytest.mark.long
def test_every_call_keeps_the_openapi_document_for_longer(
    settings_with_dead_letters: dict[str, str], tmp_path: Path
) -> None:
    """The same with more data."""
    run_schemathesis(settings_with_dead_letters, tmp_path, 500)
