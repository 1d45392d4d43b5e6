"""Fact files are read in three formats, and what is no fact is named with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cli.errors import UsageError
from cli.sources.fact_files import facts_in

if TYPE_CHECKING:
    from pathlib import Path

FACTS = [{"id": "1", "town": "Redmond"}, {"id": "2", "town": "Ålesund, North"}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("facts.json", '[{"id": "1", "town": "Redmond"}, {"id": "2", "town": "Ålesund, North"}]'),
        ("facts.jsonl", '{"id": "1", "town": "Redmond"}\n\n{"id": "2", "town": "Ålesund, North"}\n'),
        ("facts.csv", 'id,town,phone\n1,Redmond,\n2,"Ålesund, North",\n'),
        ("bom.CSV", '\ufeffid,town\n1,Redmond\n2,"Ålesund, North"\n'),
    ],
)
def test_facts_are_the_same_in_every_format(tmp_path: Path, name: str, text: str) -> None:
    """By the file's ending."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert list(facts_in(tmp_path / name)) == FACTS


def test_one_fact_is_a_json_file_too(tmp_path: Path) -> None:
    """Without an array around it."""
    (tmp_path / "fact.json").write_text('{"id": "1"}')
    assert list(facts_in(tmp_path / "fact.json")) == [{"id": "1"}]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("facts.xml", "<facts/>", "does not end in one of .json"),
        ("facts.jsonl", '{"id": "1"}\n{oops}\n', r"facts.jsonl, line 2: Expecting property name"),
        ("facts.json", '[\n{"id": oops}\n]', "line 2"),
        ("facts.jsonl", "[1, 2]", "a fact is a JSON object"),
        (
            "facts.jsonl",
            # Python 3.13 reads ten thousand levels.
            '{"id": "1"}\n' + '{"a":' * 100_000 + "1" + "}" * 100_000,
            "line 2: it is nested too deeply",
        ),
        (
            "facts.jsonl",
            '{"id": "1", "n": ' + "9" * 5000 + "}",
            "facts.jsonl, line 1: a whole number has more than 4,300 digits: write it as a text",
        ),
        ("facts.csv", "id,town\n1,Redmond,WA\n", "more cells than the first line has names"),
        ("facts.csv", 'id,town\n1,"Redmond', "unexpected end"),
        ("facts.csv", "id,town,town\n1,,Redmond\n", "facts.csv, line 1: the column 'town' is there twice"),
        ("facts.csv", '"i\nd",town,,\n1,Redmond,a,b\n', "facts.csv, line 2: the column '' is there twice"),
    ],
)
def test_what_is_no_fact_is_named_with_its_place(tmp_path: Path, name: str, text: str, reason: str) -> None:
    """The file, the line and what to do."""
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=reason):
        list(facts_in(tmp_path / name))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """In the user's words."""
    with pytest.raises(UsageError, match=r"gone.json cannot be read"):
        list(facts_in(tmp_path / "gone.json"))


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    """With the byte."""
    (tmp_path / "latin.csv").write_bytes(b"id,town\n1,\xc5lesund\n")
    with pytest.raises(UsageError, match="not UTF-8"):
        list(facts_in(tmp_path / "latin.csv"))
