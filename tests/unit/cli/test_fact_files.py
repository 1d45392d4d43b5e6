"""Fact files are read in three formats, and what is no fact is named with its place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from cli.errors import UsageError
from cli.sources.csv_files import read_types
from cli.sources.fact_files import FactFiles, facts_in

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
        ("facts.jsonl", '{"id": "1"} {"id": "2"}', "line 1: there is more text after the fact"),
        ("facts.json", '\n[{"id": "1"}\n\n,\n{"id": "2"}', "line 5: no comma or end of the array"),
        ("facts.json", '[{"id": "1"},]', "line 1: Expecting value"),
        ("facts.json", '[{"id": "1"}]\n]', "line 1: no comma or end of the array"),
        ("facts.json", '\n\n{"id": "1"', "line 3: Expecting ',' delimiter"),
        ("facts.json", '[\n\n"a fact"]', "line 3: a fact is a JSON object"),
        ("facts.xml", "<facts/>", "does not end in one of .json"),
        ("facts.jsonl", '{"id": "1"}\n{oops}\n', r"facts.jsonl, line 2: Expecting property name"),
        ("facts.json", '[\n{"id": oops}\n]', "line 2"),
        ("facts.jsonl", '{"id": "1"}\n{"id": "2",\n', "line 2: Expecting property name .*, column 1[12]"),
        ("facts.jsonl", '{"id": "1",\r\n{"id": "2"}\n', "line 1: Expecting property name .*, column 1[12]"),
        ("facts.jsonl", '\n{"id":  \n{"id": "2"}\n', "line 2: Expecting value, column"),
        ("facts.jsonl", '{"id": "1"}\n{"id": "2\n{"id": "3"}\n', "line 2: Unterminated string"),
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
        ("facts.csv", "id;town\n1;Redmond\n", "line 1: the only column is 'id;town': write commas between the cells"),
        ("facts.csv", "id\ttown\n1\tRedmond\n", r"line 1: the only column is 'id\\ttown': write commas"),
        ("facts.csv", "id,town\n1,Redmond,WA\n", "more cells than the first line has names"),
        ("facts.csv", 'id,town\n1,"Redmond', "unexpected end"),
        ("facts.csv", "id,town,town\n1,,Redmond\n", "facts.csv, line 1: the column 'town' is there twice"),
        ("facts.csv", '"i\nd",town,,\n1,Redmond,a,b\n', "facts.csv, line 1: the column '' is there twice"),
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


def no_town(fact: dict[str, Any]) -> str | None:
    """A check of facts."""
    return None if "town" in fact else "it has no town"


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("facts.json", '[\n {"id": "1"},\n {"id": "2", "town": "x"},\n\n {"id":\n "3"}]', [2, 5]),
        ("facts.jsonl", '{"id": "1"}\n\n{"town": "x"}\nnonsense\n{"id": "4"}\n', [1, 4, 5]),
        ("facts.csv", 'id,town\n1,\n\n"2\n2",\n3,x\n4\n5,x,y\n', [2, 4, 7, 8]),
    ],
)
def test_all_bad_facts_of_all_files_are_told_at_once(tmp_path: Path, name: str, text: str, lines: list[int]) -> None:
    """Each with the line on which it begins; only what cannot be read any further ends a file."""
    file, fine = tmp_path / name, tmp_path / "fine.jsonl"
    file.write_text(text)
    fine.write_text('{"town": "x"}')
    with pytest.raises(UsageError) as caught:
        FactFiles().checked([file, fine, file], no_town)
    head, *faults = str(caught.value).splitlines()
    assert [int(fault.partition(", line ")[2].partition(":")[0]) for fault in faults] == lines * 2
    assert head.startswith(f"nothing was written: {len(faults)} of ")


def test_of_very_many_faults_the_first_are_told(tmp_path: Path) -> None:
    """And how many more there are."""
    file = tmp_path / "facts.jsonl"
    file.write_text('{"id": "1"}\n' * 1234)
    with pytest.raises(UsageError, match="1,234 of 1234 facts") as caught:
        FactFiles().checked([file], no_town)
    assert len(str(caught.value).splitlines()) == 102
    assert str(caught.value).endswith("\n  and 1,134 more")


def test_cells_have_the_types_that_are_given(tmp_path: Path) -> None:
    """All others stay text, and so does what only looks like a number."""
    file = tmp_path / "airports.csv"
    file.write_text('iata,elevation,lat,open,runways,zip\nAES,21,62.5,TRUE,"[1, 2]",06001\n')
    types = read_types(["elevation=integer,lat=number", "open=boolean,runways=json"])
    (fact,) = FactFiles(types, "iata").facts(file)
    typed = {"iata": "AES", "elevation": 21, "lat": 62.5, "open": True, "runways": [1, 2], "zip": "06001"}
    assert fact == {"id": "AES", **typed}
    (fact,) = FactFiles(read_types(["auto", "elevation=string"])).facts(file)
    assert fact == {**typed, "elevation": "21"}


def test_a_column_has_the_type_that_all_its_cells_have(tmp_path: Path) -> None:
    """One that is no number makes all of them text. Ids always are."""
    file = tmp_path / "facts.csv"
    file.write_text("id,a,b,c,d\n1,1,1,true,1\n2,2.5,x,false,01\n3,,,,\n")
    facts = list(FactFiles(read_types(["auto"])).facts(file))
    assert facts[0] == {"id": "1", "a": 1, "b": "1", "c": True, "d": "1"}
    assert facts[1:] == [{"id": "2", "a": 2.5, "b": "x", "c": False, "d": "01"}, {"id": "3"}]


@pytest.mark.parametrize(
    ("types", "reason"),
    [
        ("elevation=integer", "facts.csv, line 3: 'high' in the column 'elevation' is not of type integer"),
        ("elevaton=integer", ', which --types names. Did you mean "elevation"?'),
        ("elevation", "'elevation' is not NAME=TYPE"),
        ("elevation=float", "'float' is not a type of cells: choose one of boolean, integer, number, json, string"),
    ],
)
def test_a_wrong_type_is_told(tmp_path: Path, types: str, reason: str) -> None:
    """With what to do."""
    file = tmp_path / "facts.csv"
    file.write_text("id,elevation\n1,5\n2,high\n")
    with pytest.raises(UsageError, match=re.escape(reason)):
        FactFiles(read_types([types])).checked([file], lambda _: None)


def test_a_field_that_is_no_id_is_told(tmp_path: Path) -> None:
    """An id is a text or a whole number."""
    file = tmp_path / "facts.jsonl"
    file.write_text('{"no": 7}\n{"no": 1.5}\n{}\n')
    with pytest.raises(UsageError) as caught:
        FactFiles(identity="no").checked([file], lambda _: None)
    assert str(caught.value).count('it has no "no" that can be its id') == 2
    assert next(FactFiles(identity="no").facts(file)) == {"id": "7", "no": 7}
