"""`index-tables advise` against a running app: indexes without entries, names that are none, and numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cli.main import main
from tests.functions.apps import RunningApp, serving
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def app(lookup_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """An app to which the pipeline has brought nothing yet."""
    with serving(ROOT, lookup_settings, "--http-only", log_folder=tmp_path_factory.mktemp("app")) as running:
        yield running


def test_an_empty_index_is_told_so(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing can be said about it, which is no problem."""
    assert main(["advise", "customers-by-town", "--url", app.url]) == 0
    shown = capsys.readouterr()
    assert 'customers-by-town: empty\n    "customers-by-town" has no entries yet.' in shown.out
    assert "1 piece of advice on 1 index" in shown.err


def test_numbers_of_an_empty_index_are_zero(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """For every index of the definitions."""
    assert main(["advise", "--numbers", "--url", app.url, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["index"] for row in rows} == {
        "customers-by-town",
        "customers-by-name",
        "customers-by-age",
        "orders-newest-first",
    }
    assert all((row["entries"], row["partitions"], row["top"]) == (0, 0, []) for row in rows)


def test_an_unknown_index_is_wrong_usage(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """The message names those that there are."""
    assert main(["advise", "nosuch", "--url", app.url]) == 2
    assert "known are customers-by-age" in capsys.readouterr().err


def test_advice_that_is_not_there_cannot_be_applied(
    app: RunningApp, lookup_settings: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """`rebalance --advised` of an empty index changes nothing."""
    arguments = ["--advised", "--write", "--url", app.url, "--definitions", lookup_settings["INDEX_DEFINITIONS"]]
    assert main(["rebalance", "customers-by-town", *arguments]) == 1
    assert "there is no advice on the layout of customers-by-town" in capsys.readouterr().err


def test_a_list_tells_key_state_and_size(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """Of every index; what is behind the line may be left out of a lookup."""
    assert main(["list", "--url", app.url, "--format", "json"]) == 0
    rows = {row["index"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["customers-by-town"]["key"] == "town | lastName, firstName"
    assert rows["orders-newest-first"]["key"] == "customer, paid | placedAt desc"
    assert {(row["state"], row["entries"], row["bytes"]) for row in rows.values()} == {("serving", 0, 0)}


def test_a_list_without_sizes_asks_for_none(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """A table of it has a line for each index."""
    assert main(["list", "--no-size", "--url", app.url]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].split() == ["INDEX", "KEY", "SOURCE", "STATE"]
    assert err == "4 indexes\n"
