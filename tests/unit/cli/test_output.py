"""What is printed: CSV that a spreadsheet can open, and text that cannot take over a terminal."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pty
import subprocess
import sys
import termios
from typing import TYPE_CHECKING, Any

import pytest

from cli.commands import advise, status, switch, verify
from cli.commands.query import said_once
from cli.commands.status import write_status
from cli.main import main
from cli.output import FORMATS, tell, write_rows
from cli.tables import fitted
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def printed(
    rows: Sequence[dict[str, Any]], columns: Sequence[str], name: str, capsys: pytest.CaptureFixture[str]
) -> str:
    """What goes to stdout."""
    write_rows(rows, columns, name)
    return capsys.readouterr().out


def test_csv_has_a_column_for_each_member(capsys: pytest.CaptureFixture[str]) -> None:
    """Of any row, in the order of the columns; what no row has keeps its column."""
    rows: list[dict[str, Any]] = [
        {"id": "1", "key": {"town": "Oslo"}, "data": {"phone": "5", "address": {"zip": "06"}}},
        {"id": "2", "key": {"town": "Lund", "age": 3}, "data": None},
    ]
    out = printed(rows, ["id", "key", "data", "fact"], "csv", capsys)
    assert out.splitlines() == [
        "id,key.town,key.age,data.phone,data.address.zip,fact",
        "1,Oslo,,5,06,",
        "2,Lund,3,,,",
    ]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)"])
def test_a_text_that_looks_like_a_formula_is_quoted_in_csv(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A spreadsheet would run it; a number is none."""
    out = printed([{"a": text, "b": -1, "c": [text]}], ["a", "b", "c"], "csv", capsys)
    assert list(csv.reader(io.StringIO(out)))[1] == [f"'{text}", "-1", f"'{text}"]


@pytest.mark.parametrize("name", FORMATS)
def test_control_characters_are_never_printed_raw(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They could move the cursor, change colours or turn letters around."""
    text = "a\x1b[2Jb\x9bc\u202ed\x07\r\ne\x7f"
    out = printed([{"id": text, "data": {"x": text}}], ["id", "data"], name, capsys)
    assert all(character == "\n" or character.isprintable() for character in out)
    if name == "json":
        assert json.loads(out) == [{"id": text, "data": {"x": text}}]
    assert r"\x1b[2J" in out or r"\u001b[2J" in out


def test_a_table_has_a_column_for_each_field(capsys: pytest.CaptureFixture[str]) -> None:
    """Named as the fact names it; with its whole path only where two have one name."""
    rows: list[dict[str, Any]] = [
        {"id": "1", "key": {"town": "Oslo"}, "data": {"phone": "5", "address": {"town": "x"}}}
    ]
    out = printed(rows, ["id", "key", "data"], "table", capsys)
    assert out.splitlines() == ["ID  key.town  phone  data.address.town", "1   Oslo      5      x"]


def test_a_row_of_a_table_says_nothing_twice() -> None:
    """An entry may carry its whole fact; what differs from the key, such as a folded name, stays."""
    entry = {"id": "1", "key": {"town": "Oslo", "name": "ann"}, "data": {"id": "1", "town": "Oslo", "name": "Ann"}}
    assert said_once(entry) == {**entry, "data": {"name": "Ann"}}
    assert said_once({"key": {"town": "Oslo"}, "data": {}})["data"] is None


@pytest.mark.parametrize("width", [30, 60, 100])
def test_a_table_is_no_wider_than_the_terminal(width: int) -> None:
    """Aligned if it fits, else with folded cells, else as records; nothing is left out."""
    cells = [["ID", "town", "notes", "phone"], ["1", "Oslo", "x" * 35, "5"], ["2", "Lund", "", "55-" * 5]]
    lines = fitted(cells, [max(map(len, column)) for column in zip(*cells, strict=True)], width)
    assert max(map(len, lines)) <= width
    assert "".join(lines).count("x") == 35
    assert (len(lines) == 3) == (width == 100)


def test_a_table_fits_a_real_terminal(tmp_path: Path) -> None:
    """Of 60 columns: the same rows that are one line each in a pipe."""
    file = tmp_path / "indexes.yaml"
    file.write_text((ROOT / "indexes.yaml").read_text())
    command = [sys.executable, "-m", "cli", "plan", str(file), "--against", str(ROOT / "docs/examples/movies.yaml")]
    here, there = pty.openpty()
    termios.tcsetwinsize(there, (24, 60))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    done = subprocess.run(command, cwd=ROOT, stdout=there, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(there)
    text = b""
    with contextlib.suppress(OSError):  # the other end of a terminal is closed
        while part := os.read(here, 4096):
            text += part
    os.close(here)
    assert done.returncode == 0, done.stderr
    lines = text.decode().replace("\r", "").splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[0].split()[:2] == ["NAME", "EFFECT"]


def test_messages_are_no_more_raw_than_data(capsys: pytest.CaptureFixture[str]) -> None:
    """They may quote facts, files and answers; their own lines stay."""
    tell("first\x1b[2J\u202e\nsecond")
    assert capsys.readouterr().err == "first\\x1b[2J\\u202e\nsecond\n"


def test_long_work_in_the_status_is_named_by_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """And entries that were written are not called entries: there may be more, or fewer."""
    about = {"index": "by-town", "generation": "8261de89", "repair": True, "reconcile": False, "sample": None}
    task = {"kind": "verification", "about": about, "state": "done", "slices": 1, "slicesDone": 1}
    index = {"name": "by-town", "state": "serving", "generation": "8261de89", "entriesWritten": 4, "entriesRemoved": 1}
    counts = {"lookups": 0, "transactions": {"changes": 3, "lookups": 0}}
    money = {"dollarsPerMillionEntries": None, "dollarsPerMillionLookups": None}
    status = {
        "at": "2026-11-19T12:00:00Z",
        "sources": [],
        "indexes": [{**index, **counts, **money}],
        "tasks": [{**task, "counts": {}, "problem": None}],
        "deadLetters": {"reasons": []},
        "storage": {
            "isReachable": True,
            "breaker": {"state": "closed", "openForSeconds": None, "lastOutageSeconds": None},
        },
        "unknown": [],
    }
    write_status(status, "table")
    out = capsys.readouterr().out
    assert "verification  by-town 8261de89 repair  done" in out
    assert "WRITTEN  REMOVED" in out


def test_one_of_a_kind_is_singular() -> None:
    """And many have their separators."""
    members = ("examined", "behind", "deadLetters", "tombstones", "masked", "untold", "facts", "ledgerRows", "rows")
    found = {**dict.fromkeys(members, 1), "index": "i", "generation": "g", "differences": {}}
    found = {**found, "repair": True, "reconcile": False, "unrepaired": 0, "repaired": 1, "swept": 1}
    found["differences"] = dict.fromkeys(verify._KINDS, 0)
    besides = "1 change on its way, 1 dead letter, 1 tombstone, 1 hidden row"
    assert verify._summary(found).splitlines()[1:] == [
        "  read      1 fact, 1 ledger row, 1 row; 1 fact looked at closely",
        "  differs   nothing",
        f"  besides   {besides}, 1 fact of which the hub has no event any more",
        "  repaired  1 fact; 0 could not be repaired; 1 tombstone given to the sweep",
    ]
    many = verify._summary({**found, "behind": 1200, "events": 3000})
    assert "read      3,000 events" in many
    assert "1,200 changes on their way" in many
    assert advise._summary(0, 1) == "nothing to advise on 1 index"
    (warning,) = status._warnings({"name": "orders", "deadLettersNotKept": 1})
    assert "1 dead letter was not kept" in warning


class _Switched:
    """An app that has just switched."""

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """What serves, and from when on."""
        return {"index": "by-town", "serving": "new", "before": "old", "since": "2999-01-01T00:00:00.000+00:00"}


def test_a_switch_says_from_when_it_holds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Until then lookups are answered as before; programs read stdout."""
    monkeypatch.setattr(switch, "client_for", lambda *_: _Switched())
    for command in ("switch", "rollback"):
        assert main([command, "by-town", "--format", "json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)[0]["serving"] == "new"
        assert err == "by-town: new serves from 2999-01-01T00:00:00.000+00:00 on, and what served before until then\n"
