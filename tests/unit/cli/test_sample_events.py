"""`validate --events` says what sample events would become, and writes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cli.main import main
from tests.worlds.hubs import DEFINITIONS, RECORDED

if TYPE_CHECKING:
    from pathlib import Path

MAPPED = """
version: 1
sources: {orders: {eventHub: hub, events: {when: kind == 'order', id: number}}}
indexes: {by-town: {source: orders, partition: town, sort: [{path: total, type: integer}]}}
"""
ORDER = {"kind": "order", "number": 7, "town": "Oslo", "total": 3}


def validate(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, list[dict[str, Any]], str]:
    """Exit code, rows and messages."""
    code = main(["validate", *map(str, arguments), "--format", "jsonl"])
    printed = capsys.readouterr()
    return code, [json.loads(line) for line in printed.out.splitlines()], printed.err


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Definitions, and a file of samples to write."""
    definitions = tmp_path / "indexes.yaml"
    definitions.write_text(MAPPED)
    return definitions, tmp_path / "sample.jsonl"


def test_each_event_has_a_row(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """With the fact, its version and its entries."""
    definitions, samples = files
    lines = [ORDER, {"kind": "other"}, {"body": json.dumps(ORDER), "key": "7"}]
    samples.write_text("\n".join(map(json.dumps, lines)))
    code, rows, _ = validate(capsys, definitions, "--events", samples)
    assert code == 0
    assert [row["becomes"] for row in rows] == ["upsert", "ignored", "upsert"]
    assert (rows[0]["id"], rows[0]["partitionKey"], rows[0]["entries"]) == ("7", [], {"by-town": 1})


@pytest.mark.parametrize(("output_format", "lines"), [("json", None), ("csv", 2)])
def test_what_samples_become_is_one_document(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], output_format: str, lines: int | None
) -> None:
    """A program reads it whole: nothing stands before it."""
    definitions, samples = files
    samples.write_text(json.dumps(ORDER))
    arguments = ["validate", str(definitions), "--events", str(samples), "--format", output_format]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert printed.count("\n") == lines if lines else json.loads(printed)[0]["becomes"] == "upsert"


@pytest.mark.parametrize(
    ("change", "becomes", "reason"),
    [
        ({"number": None}, "deadLetter", 'there is nothing at "number"'),
        ({"total": "many"}, "upsert", "'many' at \"total\" is not of type integer"),
    ],
)
def test_a_dead_letter_is_a_fault(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], change: dict[str, Any], becomes: str, reason: str
) -> None:
    """Of the source, or of an index."""
    definitions, samples = files
    samples.write_text(json.dumps({**ORDER, **change}))
    code, (row,), said = validate(capsys, definitions, "--events", samples)
    assert (code, row["becomes"]) == (1, becomes)
    assert reason in row["reason"]
    assert "1 dead letter" in said


def test_a_line_that_is_no_object_has_a_row_like_the_others(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """What is encoded twice is read; of the rest the reason is that of the dead letter."""
    definitions, samples = files
    lines = [json.dumps(json.dumps(ORDER)), "Oslo", json.dumps([ORDER]), "[" * 20_000, json.dumps(ORDER)]
    samples.write_text("\n".join(lines))
    code, rows, said = validate(capsys, definitions, "--events", samples)
    assert (code, [row["becomes"] for row in rows]) == (1, ["upsert", *["deadLetter"] * 3, "upsert"])
    assert "is not JSON" in rows[1]["reason"]
    assert "send each as an event of its own" in rows[2]["reason"]
    assert "3 dead letters" in said


@pytest.mark.parametrize("recording", sorted(DEFINITIONS))
def test_a_recording_can_be_tried(recording: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every event is a change of its source, or ignored."""
    definitions = tmp_path / "indexes.yaml"
    definitions.write_text(DEFINITIONS[recording])
    code, rows, _ = validate(capsys, definitions, "--events", RECORDED / f"{recording}.jsonl")
    assert code == 0
    assert {row["becomes"] for row in rows} <= {"upsert", "delete", "ignored"}


@pytest.mark.parametrize(
    ("sources", "arguments", "reason"),
    [
        ("a: {eventHub: h}", ["--events", "missing.jsonl"], "there is no file missing.jsonl"),
        ("a: {eventHub: h}", ["--source", "a"], "--source goes with --events"),
        ("a: {eventHub: h}", ["--events", "SAMPLES", "--source", "b"], "no source b has an event hub"),
        ("a: {eventHub: h}, b: {eventHub: i}", ["--events", "SAMPLES"], "several hubs (h, i): name a --source"),
        ("a: {cosmos: {database: d, container: c}}", ["--events", "SAMPLES"], "no source has an event hub"),
    ],
)
def test_what_cannot_be_tried_is_refused(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], sources: str, arguments: list[str], reason: str
) -> None:
    """With what to do."""
    definitions, samples = files
    samples.write_text("{}")
    definitions.write_text(f"version: 1\nsources: {{{sources}}}\nindexes: {{}}")
    code, _, said = validate(capsys, definitions, *[str(samples) if part == "SAMPLES" else part for part in arguments])
    assert code == 2
    assert reason in said
