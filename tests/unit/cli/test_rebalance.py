"""`index-tables rebalance`: shows and writes another layout; what cannot be is refused and changes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
version: 1
sources: {people: {cosmos: {database: d, container: people}}}
indexes:
  by-town: {source: people, partition: town}
  by-both: {source: people, partition: [town, street]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A definitions file."""
    path = tmp_path / "indexes.yaml"
    path.write_text(TEXT)
    return path


def rebalance(file: Path, *arguments: str) -> int:
    """The exit code of the command."""
    return main(["rebalance", *arguments, "--definitions", str(file), "--format", "json"])


def test_the_plan_is_shown_and_nothing_written(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The generation that would be built, and the difference of the file."""
    assert rebalance(file, "by-town", "--hot", "Redmond=16") == 0
    shown = capsys.readouterr()
    (step,) = json.loads(shown.out)
    assert (step["name"], step["effect"], step["because"]) == ("by-town", "new generation", ["hot"])
    assert "+  by-town: {source: people, partition: town, hot: {Redmond: 16}}" in shown.err
    assert file.read_text() == TEXT


def test_the_file_is_written_on_request(file: Path) -> None:
    """Only the index's own line changes."""
    assert rebalance(file, "by-town", "--shards", "8", "--hot", "New York=32", "--write") == 0
    assert file.read_text() == TEXT.replace("town}", 'town, shards: 8, hot: {"New York": 32}}')


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_line_ends_of_the_file_stay(file: Path, ending: str) -> None:
    """Also in a file that has those of Windows, whose every line would look changed to git."""
    text = TEXT.replace(
        "  by-both: {source: people, partition: [town, street]}", "  by-age:\n    source: people\n    partition: age"
    )
    file.write_bytes(text.replace("\n", ending).encode())
    assert rebalance(file, "by-town", "--shards", "8", "--write") == 0
    assert rebalance(file, "by-age", "--shards", "4", "--write") == 0
    expected = text.replace("town}", "town, shards: 8}").replace("partition: age", "partition: age\n    shards: 4")
    assert file.read_bytes() == expected.replace("\n", ending).encode()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("by-town", "--shards", "0"), "0 shards are out of range: a partition has 1 to 256"),
        (("by-town", "--shards", "257"), "257 shards are out of range"),
        (("by-town", "--hot", "Redmond=0"), "0 shards are out of range"),
        (("by-town", "--hot", "Redmond"), "Redmond is not VALUE=N"),
        (("by-town", "--hot", "k\udcff=3"), "'k\\udcff=3' is not UTF-8 text"),
        (("by-town",), "say what to change"),
        (("by-twn", "--shards", "2"), "there is no index by-twn"),
        (("by-both", "--hot", "x=2"), '"hot" names values of one part'),
    ],
)
def test_an_impossible_layout_is_wrong_usage_and_changes_nothing(
    file: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], complaint: str
) -> None:
    """Exit 2, with what is wrong."""
    assert rebalance(file, *arguments, "--write") == 2
    assert complaint in capsys.readouterr().err
    assert file.read_text() == TEXT


def test_an_index_behind_an_alias_is_left_to_its_author(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its change would be another index's, too."""
    path = tmp_path / "indexes.yaml"
    path.write_text(
        "version: 1\nsources: {people: {cosmos: {database: d, container: people}}}\n"
        "indexes:\n  a: &same {source: people, partition: town}\n  b: *same\n"
    )
    before = path.read_text()
    assert rebalance(path, "b", "--shards", "2", "--write") == 2
    assert "by hand" in capsys.readouterr().err
    assert path.read_text() == before


def test_faults_of_the_file_come_first(tmp_path: Path) -> None:
    """Nothing is changed in a file that cannot be read."""
    path = tmp_path / "indexes.yaml"
    path.write_text("version: 1\nindexes: {a: {source: nowhere, partition: x}}\nsources: {}\n")
    assert rebalance(path, "a", "--shards", "2", "--write") == 1
