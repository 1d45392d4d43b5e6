"""What a refused lookup suggests: an index that answers, or a definition that would; never what would be refused."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from shared.definitions.loading.load import load
from shared.entries.keys.index_keys import IndexKeys
from shared.errors import BadLookupError
from shared.inputs.page_tokens import PageTokens
from shared.lookup.asking.options import read_options
from shared.lookup.asking.plan import plan
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.memory.memory_tables import MemoryTables

if TYPE_CHECKING:
    from shared.definitions.model import Index

TEXT = """
version: 1
sources:
  customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}
  movies: {cosmos: {database: shop, container: movies}, partitionKey: genre}
indexes:
  customers-by-town: {source: customers, partition: town, sort: [lastName, firstName], project: [phone, email]}
  customers-by-name: {source: customers, partition: {path: lastName, fold: case}, sort: [{path: age, type: integer}]}
  active-by-phone: {source: customers, partition: phone, where: active}
  customers-by-street: {source: customers, partition: [{path: address.street, name: street}, town], shards: 2}
  customers-by-home: {source: customers, partition: {path: home.street, name: street}, where: moved}
  customers-by-score:
    {source: customers, partition: {path: score, type: number}, project: [_id, '"last name"', meta.token], where: score}
  by-actor: {source: movies, each: {actor: cast}, partition: actor, sort: [year]}
  by-rating: {source: movies, partition: studio, sort: [{path: rating, type: integer, order: desc}]}
  by-tag: {source: movies, each: {tag: tags}, partition: tag}
"""
DEFINITIONS = load(TEXT).require()
LOOKUPS = Lookups(
    DefinedGenerations(DEFINITIONS), Replicas(MemoryTables()), PageTokens(b"key"), known=tuple(DEFINITIONS.indexes)
)


async def suggested(index: str, parameters: dict[str, str]) -> Any:
    """What a refusal suggests."""
    with pytest.raises(BadLookupError) as caught:
        await LOOKUPS.find(index, parameters)
    return caught.value.suggestion


@pytest.mark.parametrize(
    ("index", "asked", "other", "parameters"),
    [
        ("customers-by-town", {"lastName": "Smith"}, "customers-by-name", {"lastName": "Smith"}),
        (
            "customers-by-town",
            {"lastName.in": '["a","b"]', "age.ge": "3", "maxpagesize": "5"},
            "customers-by-name",
            {"lastName.in": '["a","b"]', "age.ge": "3", "maxpagesize": "5"},
        ),
        ("customers-by-name", {"town": "Oslo", "select": "age"}, "customers-by-town", {"town": "Oslo"}),
        (
            "customers-by-name",
            {"town": "Oslo", "select": "phone", "lastName.prefix": "S"},
            "customers-by-town",
            {"town": "Oslo", "select": "phone", "lastName.prefix": "S"},
        ),
    ],
)
async def test_an_index_that_answers_is_suggested(
    index: str, asked: dict[str, str], other: str, parameters: dict[str, str]
) -> None:
    """With its parameters, less those that it would refuse."""
    assert await suggested(index, asked) == {"index": other, "parameters": parameters}


@pytest.mark.parametrize(
    ("index", "asked"),
    [
        ("customers-by-name", {"town": "Oslo", "filter": "data.age > `3`"}),
        ("customers-by-town", {"lastName": "Smith", "filter": "key.town == 'Oslo'"}),
    ],
)
async def test_an_index_that_lacks_what_a_filter_may_see_is_not_suggested(index: str, asked: dict[str, str]) -> None:
    """It would answer with nothing, or with too much."""
    found = await suggested(index, asked)
    assert found is None or "index" not in found


@pytest.mark.parametrize(
    ("index", "asked", "partition", "sort"),
    [
        ("customers-by-town", {"firstName": "Ann"}, ["firstName"], None),
        ("customers-by-town", {"town": "Oslo", "firstName.ge": "B"}, ["town"], ["firstName"]),
        ("customers-by-town", {"town": "Oslo", "phone": "5"}, ["town"], ["phone"]),
        (
            "customers-by-town",
            {"town": "Oslo", "lastName.ge": "S", "firstName": "B"},
            ["town"],
            ["firstName", "lastName"],
        ),
        ("by-actor", {"year": "1990"}, ["year"], None),
        ("by-actor", {"actor": "Tom", "rating": "5"}, ["actor"], [{"path": "rating", "type": "integer"}]),
        ("customers-by-name", {"email": "a@b"}, ["email"], None),
        ("customers-by-score", {"_id": "7"}, [{"path": "_id", "name": "id"}], None),
        ("customers-by-score", {'"last name"': "x"}, [{"path": '"last name"', "name": "last_name"}], None),
        ("customers-by-score", {"meta.token": "x"}, [{"path": "meta.token", "name": "tokenValue"}], None),
        ("customers-by-town", {"age": "5", "phone.ge": "3"}, [{"path": "age", "type": "integer"}], ["phone"]),
        ("active-by-phone", {"address.street": "X"}, [{"path": "address.street", "name": "street"}], None),
    ],
)
async def test_a_definition_that_would_answer_is_suggested(
    index: str, asked: dict[str, str], partition: list[str], sort: list[str] | None
) -> None:
    """It can be put into the file as it is, and answers then."""
    found = (await suggested(index, asked))["definition"]
    ((name, members),) = yaml.safe_load(found)["indexes"].items()
    assert (members["partition"], members.get("sort")) == (partition, sort)
    assert_answers(found, name, asked)


def assert_answers(found: str, name: str, asked: dict[str, str]) -> None:
    """The definition loads beside the others and has a plan for the lookup."""
    content = yaml.safe_load(TEXT)
    content["indexes"] |= yaml.safe_load(found)["indexes"]
    definitions = load(yaml.safe_dump(content)).require()
    index = definitions.indexes[name]
    plan(index, IndexKeys(index), {_with_name(index, each): asked[each] for each in asked})


def _with_name(index: Index, parameter: str) -> str:
    """A parameter that asks by a path, as one that asks by the name of its part."""
    for part in index.parts:
        if parameter == part.path or parameter.startswith(f"{part.path}."):
            return part.name + parameter[len(part.path) :]
    return parameter


@pytest.mark.parametrize(
    ("index", "asked"),
    [
        ("customers-by-town", {}),
        ("customers-by-town", {"lastName.ge": "Smith"}),
        ("customers-by-town", {"custmer": "Smith"}),
        ("customers-by-town", {"twon": "Oslo"}),
        ("customers-by-town", {"town": "Oslo", "email.ge": "5"}),
        ("customers-by-home", {"street": "A", "address.street": "B"}),
        ("active-by-phone", {"street": "X"}),
        ("by-actor", {"tag": "noir"}),
        ("by-tag", {"tag": "noir", "actor": "Tom"}),
        ("customers-by-town", {"town": "Oslo", "lastName.ge": "S", "firstName.ge": "B"}),
        ("customers-by-town", {"town": "Oslo", "maxpagesize": "0"}),
        ("customers-by-name", {"lastName": "a", "age": "x", "phone": "1"}),
        ("by-actor", {"lastName": "Smith"}),
    ],
)
async def test_nothing_is_suggested_that_is_not_known_to_answer(index: str, asked: dict[str, str]) -> None:
    """A range alone, a field that may be a mistake, a wrong value, facts of another source."""
    assert await suggested(index, asked) is None


def test_a_suggested_definition_has_a_name_that_no_index_has_in_any_case() -> None:
    """And one that is not too long."""
    part, text = "p" * 60, TEXT.replace("customers-by-home:", "Customers-By-FirstName:")
    found = load(text.replace("[phone, email]", f"[phone, {part}]")).require()
    generations = DefinedGenerations(found)
    lookups = Lookups(generations, Replicas(MemoryTables()), PageTokens(b"key"), known=tuple(found.indexes))
    names = [next(iter(yaml.safe_load(_definition(lookups, each))["indexes"])) for each in ("firstName", part)]
    assert names[0] == "customers-by-firstname-2"
    assert len(names[1]) <= 63


def _definition(lookups: Lookups, part: str) -> str:
    with pytest.raises(BadLookupError) as caught:
        asyncio.run(lookups.find("customers-by-town", {part: "x"}))
    assert caught.value.suggestion is not None
    return caught.value.suggestion["definition"]


async def test_explain_suggests_the_same() -> None:
    """When it says that a lookup is refused."""
    shown = await LOOKUPS.explain("customers-by-town", {"lastName": "Smith"})
    assert (shown["access"], shown["suggestion"]["index"]) == ("refused", "customers-by-name")


FIELDS = (
    "town", "lastName", "firstName", "age", "phone", "actor", "year", "select", "custmer",
    "street", "address.street", "home.street", "rating", "tag", "email",
)  # fmt: skip
OPERATORS = ("", ".ge", ".lt", ".prefix", ".in", ".null")


@given(
    st.sampled_from(sorted(DEFINITIONS.indexes)),
    st.dictionaries(
        st.builds(str.__add__, st.sampled_from(FIELDS), st.sampled_from(OPERATORS)),
        st.sampled_from(["3", "Smith", '["a","b"]', "[1,2]", "true", "phone"]),
        max_size=4,
    ),
)
async def test_no_suggestion_would_be_refused_itself(index: str, asked: dict[str, str]) -> None:
    """Whatever was asked."""
    try:
        await LOOKUPS.find(index, asked)
    except BadLookupError as error:
        found = error.suggestion
        if found is None:
            return
        if "index" in found:
            other = DEFINITIONS.indexes[found["index"]]
            read_options(other, DEFINITIONS.sources[other.source], found["parameters"])
            plan(other, IndexKeys(other), found["parameters"])
        else:
            (name,) = yaml.safe_load(found["definition"])["indexes"]
            options = ("select",)
            assert_answers(found["definition"], name, {each: asked[each] for each in asked if each not in options})


async def test_a_lookup_in_a_summary_is_not_answered_by_facts() -> None:
    """Another index shows them and does not add them up: what would answer is a summary with the same measures."""
    measures = "{people: facts, age: {max: age}}"
    text = f"{TEXT}  people: {{source: customers, partition: town, sort: lastName, summarize: {measures}}}\n"
    found = load(text).require()
    lookups = Lookups(
        DefinedGenerations(found), Replicas(MemoryTables()), PageTokens(b"key"), known=tuple(found.indexes)
    )
    with pytest.raises(BadLookupError) as caught:
        await lookups.find("people", {"lastName": "Smith"})
    assert caught.value.suggestion is not None
    (index,) = yaml.safe_load(str(caught.value.suggestion.get("definition")))["indexes"].values()
    assert index == {
        "source": "customers",
        "partition": ["lastName"],
        "summarize": {"people": "facts", "age": {"max": "age"}},
    }
