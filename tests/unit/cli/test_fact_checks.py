"""Facts are checked before any is written: against the limits of the services, and against every index."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from azure.core.exceptions import HttpResponseError, ServiceRequestError
from azure.cosmos._base import _validate_resource
from azure.cosmos.aio import CosmosClient

from cli.commands.load import not_written
from cli.errors import UsageError
from cli.main import main
from cli.sources.fact_checks import LARGEST_DOCUMENT_BYTES, LONGEST_ID_BYTES, DocumentCheck, EventCheck
from cli.sources.fact_files import FactFiles
from shared.definitions.loading.load import load

if TYPE_CHECKING:
    from pathlib import Path

DEFINITIONS = load("""
version: 1
sources:
  movies: {cosmos: {database: shop, container: movies}, partitionKey: genre, deletes: {when: isDeleted}}
  orders: {eventHub: orders, partitionKey: customer, version: revision}
indexes:
  by-year: {source: movies, partition: genre, sort: {path: year, type: integer}}
  by-actor: {source: movies, each: {actor: cast}, partition: actor}
  by-tag: {source: movies, each: {tag: tags}, partition: tag}
  newest: {source: orders, partition: customer, sort: {path: placed, type: datetime}}
""").require()


def movie(**fields: Any) -> dict[str, Any]:
    """A fact without a fault, but for these fields."""
    return {"id": "m-1", "genre": "drama", "year": 1999, **fields}


def nested(levels: int) -> Any:
    """Arrays and objects in each other, so many."""
    value: Any = []
    for level in range(levels - 1):
        value = [value] if level % 2 else {"in": value}
    return value


@pytest.mark.parametrize(
    "fact",
    [
        movie(),
        movie(year="1999", _ts=None),
        movie(year=None),
        movie(year="unknown", isDeleted=True),
        movie(id="é" * (LONGEST_ID_BYTES // 2)),
        movie(id=" a b.."),
        movie(genre="é" * 1024),
        movie(extras=nested(62)),
        movie(text="[" * 200, tags=[], extras=[[]] * 200),
        {"id": "m-1"},
    ],
)
def test_a_fact_that_the_pipeline_takes_is_taken(fact: dict[str, Any]) -> None:
    """Also one that has no entry, and one that says it is deleted."""
    assert DocumentCheck(DEFINITIONS, "movies").fault_of(fact) is None


@pytest.mark.parametrize(
    ("fact", "reason"),
    [
        ({"title": "Up"}, 'an "id" that is a text'),
        (movie(id=7), 'an "id" that is a text'),
        (movie(id="a/b"), "which Cosmos DB forbids"),
        *[(movie(id=f"a{character}b"), "which Cosmos DB forbids") for character in "\\?#\t\r\n\0"],
        (movie(id="a "), "ends with a space, which Cosmos DB forbids"),
        *[(movie(id=dots), "can never be read again") for dots in (".", "..")],
        (movie(id="é" * LONGEST_ID_BYTES), "its id has 2,046 bytes, Cosmos DB takes 1,023"),
        (movie(text="x" * LARGEST_DOCUMENT_BYTES), "Cosmos DB takes 2,097,152"),
        (movie(text="я" * (LARGEST_DOCUMENT_BYTES // 6)), "Cosmos DB takes 2,097,152"),
        (movie(rating=float("nan")), "NaN and infinity are not JSON"),
        (movie(title="\ud800"), "lone surrogate"),
        (movie(genre=["drama"]), "is not a partition key value"),
        (movie(genre="é" * 1025), "its partition key has 2,050 bytes, Cosmos DB takes 2,048"),
        (
            movie(cast=nested(63)),
            "it is nested 64 levels deep, and the Cosmos DB trigger stops at .* more than 63: make",
        ),
        (movie(year="unknown"), "'unknown' at \"year\" is not of type integer"),
        (movie(cast=[str(number) for number in range(1001)]), 'Index "by-actor" .* over the limit of 1000'),
        (movie(cast=[*map(str, range(600))], tags=[*map(str, range(600))]), "more than 1000 entries over all indexes"),
    ],
)
def test_what_the_container_or_an_index_cannot_hold_is_a_fault(fact: dict[str, Any], reason: str) -> None:
    """In the words of the pipeline; there is no dead letter to replay yet."""
    fault = DocumentCheck(DEFINITIONS, "movies").fault_of(fact)
    assert fault is not None
    assert re.search(reason, fault)
    assert "dead letter" not in fault


def test_an_all_versions_feed_has_one_level_less() -> None:
    """The item around the document is a level, too."""
    source = "{cosmos: {database: d, container: c}, partitionKey: id, deletes: {feed: allVersions}}"
    check = DocumentCheck(load(f"version: 1\nsources: {{s: {source}}}\nindexes: {{}}").require(), "s")
    assert check.fault_of({"id": "1", "deep": nested(61)}) is None
    assert "more than 62" in str(check.fault_of({"id": "1", "deep": nested(62)}))


def test_every_id_that_the_sdk_refuses_is_a_fault() -> None:
    """It refuses them while it writes, when other facts are written already."""
    for identity in [form.replace("-", chr(code)) for code in range(256) for form in ("-a", "a-a", "a-")]:
        try:
            _validate_resource({"id": identity})
        except ValueError:
            assert DocumentCheck(DEFINITIONS, "movies").fault_of(movie(id=identity)) is not None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"placed": "soon"}, "'soon' at \"placed\" is not of type datetime"), ({"revision": None}, "is not a version")],
)
def test_an_event_that_would_be_a_dead_letter_is_a_fault(fields: dict[str, Any], reason: str) -> None:
    """Whether it cannot be read or cannot be projected."""
    check = EventCheck(DEFINITIONS, "orders")
    fact = {"id": "o-1", "customer": "c-1", "revision": 1, "placed": "2026-01-01"}
    assert check.fault_of(fact) is None
    assert reason in (check.fault_of({**fact, **fields}) or "")


@pytest.mark.parametrize("op", ["upsert", "delete"])
def test_an_envelope_in_the_place_of_a_fact_is_named(op: str) -> None:
    """Its fact is inside; a fact may have such fields of its own."""
    check = EventCheck(DEFINITIONS, "orders")
    fact = {"id": "o-1", "customer": "c-1", "revision": 1, "placed": "2026-01-01"}
    fault = check.fault_of({"source": "orders", "op": op, "id": "o-1", "partitionKey": "c-1", "document": fact})
    assert "it looks like an envelope: load takes facts" in (fault or "")
    assert check.fault_of({**fact, "op": op, "document": fact}) is None
    assert "envelope" not in (check.fault_of({**fact, "revision": None, "op": "sell"}) or "")


def test_a_fault_has_its_file_and_place(tmp_path: Path) -> None:
    """The number of the line, here with a number that no double holds."""
    file = tmp_path / "movies.jsonl"
    file.write_text('{"id": "1"}\n{"id": "2", "rating": 1e400}\n')
    with pytest.raises(UsageError, match=r"movies.jsonl, line 2: it is not JSON that can be written"):
        FactFiles().checked([file], DocumentCheck(DEFINITIONS, "movies").fault_of)


def refusal(status: int) -> HttpResponseError:
    """What the SDK raises for an answer with this status."""
    error = HttpResponseError("no")
    error.status_code = status
    return error


@pytest.mark.parametrize("status", [408, 429, 503])
def test_a_load_that_may_go_on_says_to_run_it_again(status: int) -> None:
    """The same for an account that does not answer at all."""
    for error in (refusal(status), ServiceRequestError("no answer")):
        assert str(not_written(error)).endswith(" Run the same command again.")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_a_load_that_is_refused_says_to_fix_it_first(status: int) -> None:
    """Running it again alone would only be refused again."""
    assert str(not_written(refusal(status))).endswith(" Fix that, then run the same command again.")


@pytest.mark.parametrize("error", [ValueError("Id contains illegal chars."), TypeError("Id type must be a string.")])
def test_what_the_sdk_itself_refuses_is_to_be_fixed_first(error: Exception) -> None:
    """It refuses it without asking the service."""
    expected = f"Not all facts were written: {error} Fix that, then run the same command again."
    assert str(not_written(error)) == expected


@pytest.mark.parametrize("error", [ValueError("Id contains illegal chars."), TypeError("Id type must be a string.")])
def test_a_refusal_of_the_sdk_is_told_in_one_line(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever of its rules is not among the checks before."""

    async def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(CosmosClient, "__aenter__", refuse)
    file = tmp_path / "facts.jsonl"
    file.write_text('{"id": "1", "customerId": "c"}')
    (tmp_path / "endpoints.json").write_text(
        '{"http": "http://127.0.0.1:1", "cosmos": {"endpoint": "http://127.0.0.1:1", "key": "a2V5"}}'
    )
    assert main(["load", str(file), "--source", "customers", "--data", str(tmp_path)]) == 1
    output = capsys.readouterr()
    assert (output.out, output.err.count("\n")) == ("", 1)
    assert f"Not all facts were written: {error}" in output.err
