"""`index-tables status` shows what `/api/status` says, for people and for programs, once or again and again."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
import requests

from cli.commands.status import duration, problems
from cli.main import main
from tests.functions.apps import RunningApp, serving
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def app(lookup_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """An app with a container that no trigger has ever read, and a hub that it cannot reach."""
    with serving(ROOT, lookup_settings, "--http-only", log_folder=tmp_path_factory.mktemp("app")) as running:
        requests.get(f"{running.url}/api/indexes/customers-by-town/entries?town=Redmond", timeout=10)
        yield running


def test_people_get_tables(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """Sources, indexes and storage; what is not known is said, and is a problem."""
    assert main(["status", "--url", app.url]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("SOURCE")
    assert [line.split()[0] for line in lines[1:3]] == ["customers", "orders"]
    assert lines[2].split()[1] == "unknown"
    assert any(line.startswith("customers-by-town") and " serving " in line for line in lines)
    assert any(line.startswith("storage answers, breaker closed") for line in lines)
    assert lines[-1].startswith("not known: There is no Event Hubs connection EVENTHUB")


def test_programs_get_the_answer_of_the_api(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """The same members; as CSV and JSON lines a row for each source."""
    main(["status", "--url", app.url, "--format", "json"])
    status = json.loads(capsys.readouterr().out)
    said = requests.get(f"{app.url}/api/status", timeout=30).json()
    assert status.keys() == said.keys()
    assert status["indexes"][0]["lookups"] == said["indexes"][0]["lookups"] > 0
    main(["status", "--url", app.url, "--format", "csv"])
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["name"] for row in rows] == ["customers", "orders"]
    main(["status", "--url", app.url, "--format", "jsonl"])
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_live_view_looks_again(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON lines for programs; an app that does not answer does not end it."""
    watch = ["status", "--watch", "--every", "0.01", "--times", "3"]
    assert main([*watch, "--url", app.url, "--format", "jsonl"]) == 1
    assert [json.loads(line)["unknown"] != [] for line in capsys.readouterr().out.splitlines()] == [True] * 3
    assert main([*watch, "--url", "http://127.0.0.1:9"]) == 1
    assert capsys.readouterr().err.count("does not answer") == 3


@pytest.mark.parametrize("arguments", [("--watch", "--format", "json"), ("--watch", "--times", "0")])
def test_a_live_view_that_cannot_be_is_wrong_usage(
    app: RunningApp, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    """With a sentence that says what can be."""
    assert main(["status", "--url", app.url, *arguments]) == 2
    assert capsys.readouterr().err.startswith("index-tables: --")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "unknown"), (0.0, "0 s"), (119.4, "119 s"), (125, "2 min 5 s"), (3725, "62 min 5 s"), (7325, "2 h 2 min")],
)
def test_durations_read_well(seconds: float | None, text: str) -> None:
    """In the two units that matter."""
    assert duration(seconds) == text


def test_more_lag_than_allowed_is_a_problem() -> None:
    """Of any source; an unknown lag is one, too."""
    lags = {"a": 5.0, "b": 400.0, "c": None}
    sources = [{"name": name, "lagSeconds": lag} for name, lag in lags.items()]
    status: dict[str, Any] = {"sources": sources, "unknown": ["c: why"]}
    assert problems(status, 300) == ["b", "c: why"]
    assert problems(status, 3) == ["a", "b", "c: why"]
