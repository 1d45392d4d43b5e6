"""The command line asks a running app: query, explain, tail."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cli.commands import query
from cli.commands.tail import differences
from cli.main import main
from shared.web.api.lookups import BATCH_MEMBERS
from tests.functions.apps import RunningApp, serving
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def app(lookup_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """This project's app with the facts of `lookup_facts` in its tables."""
    with serving(ROOT, lookup_settings, "--http-only", log_folder=tmp_path_factory.mktemp("app")) as running:
        yield running


def test_query_prints_entries(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """One page as a table; stderr says that there are more."""
    assert main(["query", "customers-by-town", "town=Redmond", "maxpagesize=2", "--url", app.url]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].split() == [
        "ID",
        "PARTITIONKEY",
        *["town", "lastName", "firstName", "phone", "email", "street"],
    ]
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["20", "1"]
    assert err == "2 entries; there are more: add --all, or a larger maxpagesize\n"


def test_query_follows_all_pages_in_every_format(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """The same entries as JSON, JSON lines and CSV."""
    arguments = ["query", "customers-by-town", "town=Redmond", "maxpagesize=3", "--all", "--url", f"{app.url}/"]
    found = {}
    for output_format in ("json", "jsonl", "csv"):
        assert main([*arguments, "--format", output_format]) == 0
        found[output_format] = capsys.readouterr().out
    as_json = [entry["id"] for entry in json.loads(found["json"])]
    assert as_json == ["20", "1", "2", "3", "4", "5", "6", "7"]
    assert [json.loads(line)["id"] for line in found["jsonl"].splitlines()] == as_json
    assert [row["id"] for row in csv.DictReader(io.StringIO(found["csv"]))] == as_json


def test_query_and_count_take_lists_of_values(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """Separated by commas, with the types that the index has."""
    where = ["--url", app.url, "--format", "json"]
    assert main(["query", "customers-by-town", "--in", "town=Redmond,Oslo", "lastName=Jones", *where]) == 0
    assert [entry["id"] for entry in json.loads(capsys.readouterr().out)] == ["20"]
    assert main(["query", "customers-by-age", "isVip=yes", "--in", "age=21,23", *where]) == 0
    assert [entry["key"]["age"] for entry in json.loads(capsys.readouterr().out)] == [23, 21]
    assert main(["count", "customers-by-town", "--in", 'town=["Redmond",""]', "--url", app.url]) == 0
    assert capsys.readouterr().out == "9\n"


def test_query_answers_the_lookups_of_a_file(
    app: RunningApp, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Each entry with the number of its lookup; what fails is said on stderr, and ends with 1."""
    lookups = [{"town": "Redmond", "lastName": "Jones"}, {"twon": "x"}, *[{"town": ""}] * 120]
    (tmp_path / "lookups.jsonl").write_text("\n".join(map(json.dumps, lookups)))
    arguments = ["query", "customers-by-town", "--file", str(tmp_path / "lookups.jsonl"), "select=phone"]
    assert main([*arguments, "--url", app.url, "--format", "jsonl"]) == 1
    out, err = capsys.readouterr()
    found = [json.loads(line) for line in out.splitlines()]
    assert [(each["lookup"], each["id"]) for each in found] == [(1, "20"), *[(n, "22") for n in range(3, 123)]]
    assert err.startswith("lookup 2: ")
    assert err.endswith("121 entries of 122 lookups\n")


def test_a_file_of_lookups_takes_the_options_of_the_call() -> None:
    """All that may stand beside the lookups."""
    assert {*query._SHARED_OPTIONS} == BATCH_MEMBERS.keys() - {"lookups"}


def test_conditions_on_both_sides_of_an_option_hold(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """The order of options and conditions says nothing."""
    arguments = ["query", "customers-by-town", "--all", "town=Redmond", "--format", "json", "lastName=Jones"]
    assert main([*arguments, "--url", app.url]) == 0
    assert [entry["id"] for entry in json.loads(capsys.readouterr().out)] == ["20"]


def test_a_local_run_is_found_by_its_folder(
    app: RunningApp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`endpoints.json` says where it listens."""
    (tmp_path / "endpoints.json").write_text(json.dumps({"http": app.url}))
    assert main(["query", "customers-by-town", "town=Nowhere", "--data", str(tmp_path)]) == 0
    assert capsys.readouterr().err == "0 entries\n"


def test_explain_prints_a_plan(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """Access class, bounds, transactions."""
    assert main(["explain", "customers-by-town", "town=Redmond", "lastName.ge=S", "--url", app.url]) == 0
    out = capsys.readouterr().out
    assert out.startswith("customers-by-town: range\n")
    assert "storageTransactionsPerPage: 1" in out


def test_explain_of_a_refused_lookup_is_a_problem(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1, with the part that is missing."""
    assert main(["explain", "customers-by-town", "lastName=Smith", "--url", app.url]) == 1
    assert "town=VALUE" in capsys.readouterr().out


def test_a_problem_of_the_app_is_told(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """With its code; exit 1."""
    assert main(["query", "customers-by-twn", "town=x", "--url", app.url]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("(IndexNotFound)\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["query", "x", "town"], "town is not NAME=VALUE"),
        (["query", "x", "a=1", "a=2"], "a is given twice"),
        (["query", "x", "--url", "ftp://x"], "is not an address"),
        (["query", "x", "--data", "nosuch"], "no local run has written nosuch"),
        (["tail", "x", "--format", "csv"], "use table or jsonl"),
        (["tail", "x", "--times", "0"], "numbers above 0"),
        (["tail", "--source", "customers"], "leave --url and --key out"),
        (["build", "x", "--here"], "leave --url and --key out"),
        (["build", "x", "--from", "events.jsonl"], "leave --url and --key out"),
        (["query", "x", "--file", "lookups.jsonl", "town=y"], "town is not an option of all lookups"),
        (["query", "x", "--file", "lookups.jsonl", "lookups=y"], "lookups is not an option of all lookups"),
        (["status", "--key", "abc\n"], "the key in --key has characters that cannot be sent"),
        (["status", "--key", "klíč→"], "the key in --key has characters that cannot be sent"),
    ],
)
def test_wrong_usage_exits_2(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is asked."""
    if "--url" not in arguments and "--data" not in arguments:
        arguments = [*arguments, "--url", "http://127.0.0.1:1"]
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_an_app_that_does_not_answer_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1, with the address."""
    assert main(["query", "x", "town=y", "--url", "http://127.0.0.1:1"]) == 1
    assert "http://127.0.0.1:1 does not answer" in capsys.readouterr().err


def test_the_faults_of_the_definitions_are_told(
    lookup_settings: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each with its place, below what the problem says."""
    file = tmp_path / "broken.yaml"
    file.write_text("version: 1\nsources: {}\nindexes: {by-town: {source: customers, partitoin: town}}\n")
    settings = {**lookup_settings, "INDEX_DEFINITIONS": str(file)}
    with serving(ROOT, settings, "--http-only", log_folder=tmp_path) as running:
        assert main(["status", "--url", running.url]) == 1
    first, *faults = capsys.readouterr().err.splitlines()
    assert first.endswith("(DefinitionsBroken)")
    assert len(faults) == 2
    assert any(fault.startswith(f"  {file}:3: indexes.by-town.partitoin: unknown key") for fault in faults)


def test_several_faults_of_a_lookup_are_told_once(app: RunningApp, capsys: pytest.CaptureFixture[str]) -> None:
    """The detail has them all."""
    assert main(["query", "customers-by-town", "a=1", "b=2", "--url", app.url]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_missing_key_is_told(
    lookup_settings: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The local run's own keys are in its endpoints; another app's come with --key."""
    keys_file = tmp_path / "keys.json"
    with serving(ROOT, lookup_settings, "--http-only", "--keys", str(keys_file), log_folder=tmp_path) as running:
        assert main(["query", "customers-by-town", "town=x", "--url", running.url]) == 1
        assert "the app wants a function key" in capsys.readouterr().err
        assert main(["query", "customers-by-town", "town=x", "--url", running.url, "--key", "wrong"]) == 1
        assert "the app does not accept the key" in capsys.readouterr().err
        keys = json.loads(keys_file.read_text())
        (tmp_path / "endpoints.json").write_text(json.dumps({"http": running.url, "keys": keys}))
        assert main(["query", "customers-by-town", "town=x", "--data", str(tmp_path)]) == 0
        assert main(["query", "customers-by-town", "town=x", "--url", running.url, "--key", keys["function"]]) == 0


def test_tail_prints_what_is_there(app: RunningApp) -> None:
    """Entries that appear begin with +, and the command can be told to end."""
    command = [sys.executable, "-m", "cli", "tail", "customers-by-town", "town=Redmond", "lastName=Jones"]
    command += ["--url", app.url, "--times", "2", "--every", "0.01"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    (line,) = done.stdout.splitlines()
    assert line.startswith('+ 20  town="Redmond" lastName="Jones" firstName="Bob"  {')


def test_tail_tells_what_appears_changes_and_vanishes() -> None:
    """By the version of each entry."""
    before = {"a": {"version": "1"}, "b": {"version": "1"}, "c": {"version": "1"}}
    now = {"b": {"version": "2"}, "c": {"version": "1"}, "d": {"version": "1"}}
    assert [event for event, _ in differences(before, now)] == ["vanished", "changed", "appeared"]


def test_openapi_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    """The document of the definitions in the repository."""
    assert main(["openapi", str(ROOT / "indexes.yaml")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["openapi"] == "3.1.0"
    assert "/api/indexes/movies-by-actor/entries" in document["paths"]


def test_openapi_is_one_line_for_programs_that_read_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """The same document."""
    assert main(["openapi", str(ROOT / "indexes.yaml"), "--format", "json"]) == 0
    as_json = json.loads(capsys.readouterr().out)
    assert main(["openapi", str(ROOT / "indexes.yaml"), "--format", "jsonl"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == as_json


@pytest.mark.parametrize("name", ["table", "csv"])
def test_a_document_has_no_rows(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A format that it cannot have is wrong usage, not ignored."""
    assert main(["openapi", str(ROOT / "indexes.yaml"), "--format", name]) == 2
    assert f"'--format': '{name}' is not one of 'json', 'jsonl'" in capsys.readouterr().err


def test_there_is_no_openapi_document_of_a_broken_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its faults are printed instead."""
    (tmp_path / "broken.yaml").write_text("version: 2\n")
    assert main(["openapi", str(tmp_path / "broken.yaml")]) == 1
    out, err = capsys.readouterr()
    assert "broken.yaml:1: fault: version" in out
    assert "fix the faults first" in err
