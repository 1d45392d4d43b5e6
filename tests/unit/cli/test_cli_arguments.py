"""What is given wrongly is wrong usage, told in one sentence before anything is asked or changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

NOWHERE = ("--url", "http://127.0.0.1:1")


def refused(arguments: list[str]) -> None:
    """Exit code 2, whether Click or the command finds it."""
    assert main(arguments) == 2


@pytest.mark.parametrize("option", ["--url", "--data"])
@pytest.mark.parametrize(
    "command",
    [
        ["query", "by-town"],
        ["status"],
        ["switch", "by-town"],
        ["rollback", "by-town"],
        ["build", "by-town"],
        ["apply"],
        ["tail", "by-town"],
        ["dead-letters", "purge"],
        ["dead-letters", "replay", "--all"],
    ],
)
def test_an_empty_address_or_folder_is_not_the_local_run(
    command: list[str], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A shell variable that is not set must not change where a command works."""
    refused([*command, option, ""])
    assert f"'{option}': it is empty" in capsys.readouterr().err


def test_a_load_into_an_empty_folder_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Its `--data` is declared apart."""
    refused(["load", "facts.jsonl", "--source", "customers", "--data", ""])
    assert "'--data': it is empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["dead-letters", "show", ""],
        ["dead-letters", "replay", ""],
        ["dead-letters", "purge", "--source", ""],
        ["dead-letters", "replay", "--reason", ""],
        ["query", ""],
        ["explain", ""],
        ["tail", ""],
        ["build", ""],
        ["verify", ""],
        ["verify", "by-town", "--generation", ""],
        ["switch", ""],
        ["apply", ""],
        ["advise", ""],
        ["rebalance", "", "--shards", "2"],
    ],
)
def test_an_empty_name_is_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It would be another address: that of the list, or of all."""
    refused([*arguments, *NOWHERE])
    assert "it is empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1",
        "http://exa mple",
        "http://127.0.0.1:1\n/x",
        "http://127.0.0.1:1/\udcff",
        "http://",
        "http://127.0.0.1:port",
        "http://127.0.0.1:99999",
        "http://me:secret@127.0.0.1",
        "127.0.0.1:7071",
    ],
)
def test_what_is_no_address_is_wrong_usage(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line."""
    refused(["status", "--url", url])
    message = capsys.readouterr().err
    assert "is not an address" in message
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (["status"], []),
        (["status"], {}),
        (["status"], {"http": "x"}),
        (["status"], {"http": 5}),
        (["status"], {"http": "http://[::1"}),
        (["status"], {"http": "http://127.0.0.1:1", "keys": 5}),
        (["status"], {"http": "http://127.0.0.1:1", "keys": {"function": 5}}),
        (["load", "FILE", "--source", "customers"], {"http": "http://127.0.0.1:1"}),
        (["load", "FILE", "--source", "customers"], {"http": "http://127.0.0.1:1", "cosmos": "x"}),
        (["load", "FILE", "--source", "customers"], {"http": "http://127.0.0.1:1", "cosmos": {"endpoint": "x"}}),
        (["tail", "--source", "orders"], {"http": "http://127.0.0.1:1", "eventHubs": {"connectionString": 5}}),
        (["build", "by-town", "--here"], {"http": "http://127.0.0.1:1", "storage": []}),
    ],
)
def test_a_file_that_no_local_run_wrote_is_told(
    command: list[str], found: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever part of it a command needs."""
    facts = tmp_path / "facts.jsonl"
    facts.write_text('{"id": "1", "customerId": "c"}')
    (tmp_path / "endpoints.json").write_text(json.dumps(found))
    refused([str(facts) if word == "FILE" else word for word in command] + ["--data", str(tmp_path)])
    output = capsys.readouterr()
    message = f'{tmp_path / "endpoints.json"} is not that of a local run: start it again with "make run"'
    assert message in output.err
    assert (output.out, output.err.count("\n")) == ("", 1)


@pytest.mark.parametrize("budget", ["nan", "inf", "-inf", "1e400", "much"])
@pytest.mark.parametrize("command", [["verify", "x"], ["build", "x"], ["apply"], ["rebalance", "x", "--shards", "2"]])
def test_a_budget_that_is_no_number_is_wrong_usage(
    command: list[str], budget: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON has no such numbers, so no app could be told."""
    refused([*command, f"--budget={budget}", *NOWHERE])
    assert f"'--budget': {budget} is not a number of transactions" in capsys.readouterr().err
