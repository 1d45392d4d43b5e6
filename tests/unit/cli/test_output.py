"""What is printed: CSV that a spreadsheet can open, and text that cannot take over a terminal."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from cli.output import FORMATS, write_rows

if TYPE_CHECKING:
    from collections.abc import Sequence


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
