"""Definitions that are drafted from facts: keys with reasons, no fault, and room for every fact."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.main import main
from cli.sources.draft import SourceDraft, definitions_text
from cli.sources.fact_checks import DocumentCheck
from cli.sources.profile import Profile
from shared.definitions.loading.load import load
from tests.support import ROOT

SAMPLES = ROOT / "local" / "run" / "samples"


def drafted(facts: list[dict[str, Any]]) -> str:
    """The text for a source `things`."""
    return definitions_text([SourceDraft("things", Profile().of_facts(facts))], "data")


def test_sample_facts_get_the_keys_that_a_person_would_choose(tmp_path: Path) -> None:
    """Each with its reason; what a list would hold too much of, or nothing, is not drafted."""
    target = tmp_path / "indexes.yaml"
    files = [word for name in ("customers", "movies", "orders") for word in ("--from", str(SAMPLES / f"{name}.jsonl"))]
    assert main(["init", *files, "--definitions", str(target)]) == 0
    text = target.read_text()
    loaded = load(text)
    definitions = loaded.require()
    assert not loaded.advice
    keys = {
        name: (index.partition[0].path, [part.path for part in index.sort])
        for name, index in definitions.indexes.items()
    }
    assert keys["customers-by-town"] == ("town", ["firstName"])
    assert keys["movies-by-genre"] == ("genre", ["title"])
    assert keys["orders-by-customer-id"] == ("customer.id", ["placedAt"])
    assert definitions.indexes["movies-by-cast-element"].each is not None
    assert definitions.sources["customers"].partition_key == ("customerId",)
    assert "# town: string, in 98% of the facts, 10 values, about 5.9 facts each, at most 20% of all in one." in text
    assert "# Not drafted: status: but it has few values" in text
    assert "Not drafted: email" in text


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unless that is asked for."""
    target = tmp_path / "indexes.yaml"
    target.write_text("mine")
    command = ["init", "--from", str(SAMPLES / "customers.jsonl"), "--definitions", str(target)]
    assert main(command) == 2
    assert "there already" in capsys.readouterr().err
    assert target.read_text() == "mine"
    assert main([*command, "--force"]) == 0
    assert load(target.read_text()).require().indexes


def test_csv_has_types_and_an_id_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The next command is told with both."""
    file, target = tmp_path / "air ports.csv", tmp_path / "indexes.yaml"
    rows = [f"A{number},{number % 5},T{number % 7},{number * 1.5}" for number in range(70)]
    file.write_text("\n".join(["iata,runways,town,elevation", *rows]))
    command = ["init", "--from", str(file), "--definitions", str(target), "--format", "json"]
    assert main(command) == 2
    assert "name the field that is one with --id" in capsys.readouterr().err
    assert main([*command, "--id", "iata"]) == 0
    out, told = capsys.readouterr()
    assert {row["field"]: row["type"] for row in json.loads(out)} == {
        "id": "string",
        "iata": "string",
        "runways": "integer",
        "town": "string",
        "elevation": "number",
    }
    assert f"index-tables load '{file}' --source air-ports --id iata --types auto" in told
    index = load(target.read_text()).require().indexes["air-ports-by-runways"]
    assert index.partition[0].type == "integer"


def test_a_handful_of_facts_gets_keys_too() -> None:
    """A first try is made with as few as the tutorial has."""
    books = [
        {"id": "b-1", "title": "A Harbour in Winter", "genre": "novel", "authors": ["Ida Holm"]},
        {"id": "b-2", "title": "Tides", "genre": "science", "authors": ["Ida Holm", "Per Lund"]},
        {"id": "b-3", "title": "The Long Ferry", "genre": "novel", "authors": ["Per Lund"]},
    ]
    definitions = load(drafted(books)).require()
    assert list(definitions.indexes) == ["things-by-author", "things-by-genre"]


@pytest.mark.parametrize("facts", [[{"id": "1"}], [{"id": str(number), "a": str(number)} for number in range(9)]])
def test_facts_that_suggest_no_key_are_told_so(facts: list[dict[str, Any]]) -> None:
    """The draft is still one that loads."""
    text = drafted(facts)
    assert "nothing suggests a key" in text
    assert load(text).require().indexes == {}


names = st.sampled_from(
    ["a", "town", "code", "Major Genre", "größe", "x.y", "select", "no", "tags", "at", "ownerId", "1"]
)
texts = st.sampled_from(["Oslo", "Lund", "", "a/b", "2026-01-02", "2026-01-02T03:04:05Z", "ä\u202e", "true", "12"])
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(-2, 2), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=6,
)


# Most fields have one kind of value in all facts, so that they may become keys.
kinds = st.dictionaries(names, st.sampled_from([texts, st.integers(-5, 5), st.lists(texts, max_size=3), values]))
shapes_of = kinds.flatmap(lambda kind: st.lists(st.fixed_dictionaries({}, optional=kind), min_size=1, max_size=40))


@given(shapes_of)
def test_every_fact_fits_into_the_draft_that_was_made_from_it(shapes: list[dict[str, Any]]) -> None:
    """Whatever the facts are like, the draft has no fault, and no fact would be a dead letter."""
    facts = [{"id": str(number), **shape} for number, shape in enumerate(shapes)]
    loaded = load(drafted(facts))
    assert loaded.faults == ()
    check = DocumentCheck(loaded.definitions, "things")
    assert [fault for fact in facts if (fault := check.fault_of(fact))] == []


def test_a_field_that_is_a_list_in_some_facts_is_no_key() -> None:
    """Those facts would be dead letters."""
    towns: list[dict[str, Any]] = [{"id": str(number), "town": f"t{number % 4}"} for number in range(40)]
    assert "partition: town" in drafted(towns)
    assert "partition: town" not in drafted([*towns, {"id": "40", "town": []}])


def test_names_and_database_are_written_so_that_they_are_read_again() -> None:
    """Also names that YAML or JMESPath would take for something else."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "2026 Größen.jsonl"
        facts = [{"id": str(number), "Major Genre": f"g{number % 4}"} for number in range(40)]
        file.write_text("\n".join(map(json.dumps, facts)))
        target = Path(folder) / "indexes.yaml"
        assert main(["init", "--from", str(file), "--database", "yes", "--definitions", str(target)]) == 0
        definitions = load(target.read_text()).require()
    (source,) = definitions.sources.values()
    assert source.cosmos is not None
    assert (source.name, source.cosmos.database) == ("facts-2026-gr-en", "yes")
    assert definitions.indexes["facts-2026-gr-en-by-major-genre"].partition[0].path == '"Major Genre"'
