"""`index-tables erase` and POST /api/erasures: what is left of a fact is shown, and forced out."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import requests

from cli.main import main
from shared.app.parts import Parts
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.tables.accounts import Accounts
from tests.contract.tables.table_services import key_client
from tests.functions.apps import serving
from tests.support import ROOT
from tests.worlds.world import TOWNS, definitions_of, services_on

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PERSON: dict[str, Any] = {"town": "A", "name": "n", "phone": "1"}
DELETED, THERE = "gone-1", "there-1"


async def fill(connection: str) -> None:
    """Two facts, one of them deleted."""
    async with key_client(connection) as tables:
        services = services_on(Accounts({DEFAULT_ACCOUNT: tables}), time.time)
        worker = (await Parts(definitions_of(TOWNS), services).ready()).worker
        versions: list[tuple[str, dict[str, Any]]] = [(DELETED, PERSON), (THERE, PERSON), (DELETED, {"gone": True})]
        for number, (fact, document) in enumerate(versions):
            shown: dict[str, Any] = {"id": fact, "_ts": 1_800_000_000, "_lsn": number, "_etag": f"{number}", **document}
            await worker.apply_latest("people", [shown])


def test_what_is_left_is_shown_and_forced_out(
    own_azurite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over HTTP and on the command line; not of a fact that is there, and not with a wrong body."""
    asyncio.run(fill(own_azurite))
    (tmp_path / "indexes.yaml").write_text(TOWNS)
    settings = {"INDEX_STORAGE": own_azurite, "AzureWebJobsStorage": own_azurite, "COSMOS": "AccountKey=a2V5;"}
    settings["INDEX_DEFINITIONS"] = str(tmp_path / "indexes.yaml")
    arguments = ("--http-only", "--keys", str(tmp_path / "keys.json"))
    with serving(ROOT, settings, *arguments, log_folder=tmp_path) as running:
        key = json.loads((tmp_path / "keys.json").read_text())["admin"]

        def erase(fact: str, *more: str) -> int:
            named = ["--source", "people", "--id", fact, *more, "--url", running.url, "--key", key]
            return main(["erase", *named, "--format", "json"])

        def refused(body: dict[str, Any]) -> tuple[int, str]:
            answer = requests.post(
                f"{running.url}/api/erasures", json=body, headers={"x-functions-key": key}, timeout=30
            )
            return answer.status_code, answer.json()["code"]

        assert erase(DELETED, "--partition-key", DELETED) == 1
        shown = json.loads(capsys.readouterr().out)
        assert [each["place"] for each in shown] == ["ledger", "indexTable"]
        assert all(each["until"] for each in shown)
        assert erase(THERE) == 1
        assert "the fact is not deleted" in capsys.readouterr().err
        assert erase(THERE, "--force", "--yes") == 1
        assert "not deleted" in capsys.readouterr().err
        assert erase(DELETED, "--partition-key-json", json.dumps([DELETED]), "--force", "--yes") == 0
        printed = capsys.readouterr()
        assert json.loads(printed.out) == []
        assert "can bring a row back" in printed.err
        assert "removed: nothing is left" in printed.err
        assert erase(DELETED) == 0
        assert "the ledger does not know the fact" in capsys.readouterr().err
        assert refused({"source": "people"}) == (400, "BadRequest")
        assert refused({"source": "nobody", "id": "1"}) == (404, "NoSuchSource")
        assert refused({"source": "people", "id": THERE, "force": True}) == (409, "NotDeleted")
        assert refused({"source": "people", "id": "\ud800"}) == (400, "BadRequest")
        assert refused({"source": "people", "id": "1", "partitionKey": [["a"]]}) == (400, "BadRequest")
    assert DELETED not in running.program.output


def test_a_partition_key_that_is_no_json_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is asked."""
    fact = ["--source", "s", "--id", "1", "--url", "http://127.0.0.1:1"]
    assert main(["erase", *fact, "--partition-key-json", "{"]) == 2
    assert "not JSON" in capsys.readouterr().err
    assert main(["erase", *fact, "--partition-key", "a", "--partition-key-json", "1"]) == 2
