"""What `indexes.yaml` means: defaults, names, spellings, advice, and the compiled form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shared.definitions.files import compiled_path, read_definitions, read_for_start, write_compiled
from shared.definitions.loading.load import load
from shared.definitions.loading.schema import json_schema
from shared.definitions.model import (
    CosmosContainer,
    Definitions,
    Each,
    Events,
    Expire,
    Index,
    KeyPart,
    Placement,
    RangeSlice,
    Source,
)
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = ROOT / "docs" / "indexes.schema.json"

HEAD = """
version: 1
sources:
  customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}
  orders: {eventHub: orders, partitionKey: customer.id, version: revision}
indexes:
"""


def one(body: str) -> Index:
    """The index `i` with this body."""
    return load(f"{HEAD}  i: {{{body}}}").require().indexes["i"]


def advice(body: str) -> list[str]:
    return [str(item) for item in load(HEAD + body).advice if "no index uses" not in item.what]


def test_everything_a_definition_can_say_is_in_the_model() -> None:
    """Each key lands in its field, in its type."""
    index = one(
        "source: orders, each: {line: lines}, partition: {path: customer.id, name: customer, fold: case}, "
        "sort: [{path: placedAt, type: datetime, order: desc, nulls: index}, line.sku], "
        "project: [total, line], where: 'total > `5`', shards: 16, hot: {c-1: 64}, "
        "expire: {path: placedAt, after: 90d}, placement: {by: list, map: {c-1: INDEX_2}, default: INDEX_1}"
    )
    assert index == Index(
        name="i",
        source="orders",
        partition=(KeyPart(path="customer.id", name="customer", fold=True),),
        sort=(
            KeyPart(path="placedAt", name="placedAt", type="datetime", order="desc", keeps_nulls=True),
            KeyPart(path="line.sku", name="sku"),
        ),
        project=("total", "line"),
        each=Each("line", "lines"),
        where="total > `5`",
        shards=16,
        hot=(("c-1", 64),),
        expire=Expire("placedAt", 90 * 86_400),
        placement=Placement(by="list", accounts=(), values=(("c-1", "INDEX_2"),), default="INDEX_1"),
    )


def test_everything_a_source_can_say_is_in_the_model() -> None:
    """A container and a hub together, with a declared version."""
    text = (
        "version: 1\nsources: {s: {cosmos: {database: d, container: c}, eventHub: h, partitionKey: [a, b.c], "
        "version: rev, deletes: {when: gone}}, t: {cosmos: {database: d, container: t}, partitionKey: k, "
        "deletes: {feed: allVersions}}}\nindexes: {}"
    )
    sources = load(text).require().sources
    assert sources["s"] == Source(
        name="s",
        cosmos=CosmosContainer("d", "c"),
        event_hub="h",
        partition_key=("a", "b.c"),
        version="rev",
        deleted_when="gone",
    )
    assert sources["t"].all_versions


def test_events_without_a_mapping_are_a_form() -> None:
    """Both spellings mean the same."""
    text = "version: 1\nsources: {a: {eventHub: h, events: debezium}, b: {eventHub: h, events: {form: debezium}}}"
    sources = load(f"{text}\nindexes: {{}}").require().sources
    assert sources["a"].events == sources["b"].events == Events("debezium")


def test_a_mapping_says_what_identifies_a_fact() -> None:
    """With a container it only says where that is in an event."""
    mapping = "events: {when: w, id: a.i, partitionKey: [a.p], version: a.v, document: a, delete: d}"
    text = (
        f"version: 1\nsources: {{s: {{eventHub: h, {mapping}}}, t: {{eventHub: h, partitionKey: k, version: v, "
        f"cosmos: {{database: d, container: c}}, {mapping}}}}}\nindexes: {{}}"
    )
    s, t = load(text).require().sources.values()
    assert s.events == t.events == Events("mapping", "w", "a.i", ("a.p",), "a.v", "a", "d")
    assert (s.id, s.partition_key, s.version) == ("a.i", ("a.p",), "a.v")
    assert (t.id, t.partition_key, t.version) == ("id", ("k",), "v")


def test_a_range_map_has_typed_edges() -> None:
    """`from` and `to` are values of the first partition part."""
    index = one(
        "source: customers, partition: {path: year, type: integer}, placement: {by: range, "
        "map: [{to: '2000', account: A}, {from: 2000, account: B}]}"
    )
    assert index.placement is not None
    assert index.placement.slices == (RangeSlice(None, 2000, "A"), RangeSlice(2000, None, "B"))


@pytest.mark.parametrize("word", ["on", "no", "yes", "off", "y", "2024-01-01"])
def test_yaml_11_words_stay_text(word: str) -> None:
    """`partition: on` is a path, `hot: {no: 2}` a country."""
    assert one(f"source: customers, partition: a, hot: {{{word}: 2}}").hot == ((word, 2),)


@pytest.mark.parametrize(
    "body",
    [
        "partition: town, source: customers",
        "source: customers, partition: [town]",
        "source: customers, partition: {path: town}",
        "source: customers, partition: [{path: '\"town\"', name: town, type: string, order: asc}]",
        "source: customers, partition: ' town ', shards: 1, project: all, where: null",
    ],
)
def test_spellings_of_one_meaning_are_one_definition(body: str) -> None:
    """Order of keys, lists of one, quotes and spelled-out defaults change nothing."""
    assert one(body) == one("source: customers, partition: town")


@pytest.mark.parametrize(
    ("body", "part_of_advice"),
    [
        ("  i: {source: customers, partition: {path: vip, type: boolean}}", "very few values"),
        ("  i: {source: customers, partition: isActive}", "very few values"),
        ("  i: {source: customers, partition: status}", "very few values"),
        ("  i: {source: orders, partition: {path: placedOn, type: datetime}}", "only grows"),
        ("  i: {source: orders, partition: createdAt}", "only grows"),
        ("  i: {source: customers, partition: {path: town, order: desc}}", "has no effect"),
        ("  i: {source: customers, partition: town, each: {tag: tags}}", "no key part uses the element"),
        ("  i: {source: orders, partition: {path: 'placedAt[:10]', name: day}}", "a slice of a text is nothing"),
        ("  i: {source: orders, partition: sku, sort: [{path: 'a.b[0:3]', name: b}]}", 'i.sort[0]: "a.b[0:3]"'),
        (
            "".join(f"  i{n}: {{source: orders, partition: p{n}}}\n" for n in range(3)),
            "3 indexes carry whole facts",
        ),
        (
            "".join(f"  i{n}: {{source: customers, partition: p{n}}}\n" for n in range(4)),
            "4 indexes carry whole",
        ),
        (
            "  a: {source: customers, partition: town}\n  b: {source: customers, partition: town}",
            'same key as "a"',
        ),
    ],
)
def test_what_the_pattern_warns_about_is_advice(body: str, part_of_advice: str) -> None:
    """One piece of advice, and no fault."""
    (text,) = advice(body)
    assert part_of_advice in text


def test_ordinary_definitions_get_no_advice() -> None:
    """Advice that is always there is not read."""
    body = "  i: {source: customers, partition: town, sort: lastName, project: [email]}\n"
    body += "  j: {source: orders, partition: sku, sort: placedAt}\n"
    assert advice(body + "  k: {source: orders, partition: {path: 'skus[:2] | [0]', name: first}}") == []


@pytest.mark.parametrize(
    "body",
    [
        "  i: {source: customers, partition: status, shards: 4}",
        "  i: {source: customers, partition: status, hot: {open: 4}}",
        (
            "  a: {source: customers, partition: town, placement: {by: hash, accounts: [INDEX_2]}}\n"
            "  b: {source: customers, partition: town}"
        ),
    ],
)
def test_what_is_done_already_is_not_advised(body: str) -> None:
    """Nor is an index in an account of its own merged into one that others read."""
    assert advice(body) == []


@pytest.mark.parametrize(
    ("first", "second", "advised"),
    [
        ("debezium", "debezium", ["a", "b"]),
        ("{form: debezium, when: x}", "debezium", ["b"]),
        ("{form: debezium, when: x}", "{form: debezium, when: y}", []),
        ("debezium", "envelope", []),
        ("debezium", "{when: x, id: y}", []),
        ("document", "envelope", ["a"]),
        ("debezium", "{id: x}", ["b"]),
        ("envelope", "envelope", []),
    ],
)
def test_a_source_that_takes_the_events_of_another_is_advice(first: str, second: str, advised: list[str]) -> None:
    """They share a hub, and both would claim them."""
    text = f"version: 1\nsources: {{a: {{eventHub: h, events: {first}}}, b: {{eventHub: h, events: {second}}}}}\n"
    found = load(text + "indexes: {i: {source: a, partition: t}, j: {source: b, partition: t}}")
    assert not found.faults
    assert [item.key.split(".")[1] for item in found.advice if "shares its hub" in item.what] == advised


def test_a_source_without_index_is_advice() -> None:
    """It would be read and thrown away."""
    assert any("no index uses this source" in item.what for item in load(HEAD + "  {}").advice)


def test_the_json_schema_in_the_repository_is_the_one_the_model_gives() -> None:
    """When stale: index-tables validate --schema > docs/indexes.schema.json"""
    assert SCHEMA.read_text(encoding="utf-8") == json_schema()


@pytest.fixture
def definitions_file(tmp_path: Path) -> Path:
    path = tmp_path / "indexes.yaml"
    body = (
        "  i: {source: customers, partition: {path: n, type: integer}, hot: {5: 2}, each: {t: tags}, "
        "project: [a], expire: {path: t, after: 1d}, "
        "placement: {by: range, map: [{to: 5, account: A}, {from: 5, account: B}]}}"
    )
    path.write_text(HEAD + body, encoding="utf-8")
    return path


def test_compiled_definitions_are_the_same_definitions(definitions_file: Path) -> None:
    """Nothing is lost on the way through the plain form."""
    loaded = read_definitions(definitions_file).require()
    assert write_compiled(definitions_file) == compiled_path(definitions_file)
    assert read_for_start(definitions_file).definitions == loaded


def test_a_compiled_form_of_another_text_is_not_used(definitions_file: Path) -> None:
    """Stale is safe: the file itself is loaded."""
    write_compiled(definitions_file)
    definitions_file.write_text(HEAD + "  other: {source: customers, partition: a}", encoding="utf-8")
    assert set(read_for_start(definitions_file).definitions.indexes) == {"other"}


@pytest.mark.parametrize("compiled", ["", "{", "[]", "{}", '{"of": "1"}', "\x00"])
def test_a_broken_compiled_form_is_not_used(definitions_file: Path, compiled: str) -> None:
    """It is a cache, and worth nothing when it is not whole."""
    compiled_path(definitions_file).write_text(compiled, encoding="utf-8")
    assert set(read_for_start(definitions_file).definitions.indexes) == {"i"}


@pytest.mark.parametrize(
    ("content", "what"), [(None, "there is no such file"), (b"\xff\xfe", "is not UTF-8"), (b"", "is empty")]
)
def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path, content: bytes | None, what: str) -> None:
    """Also at start: the app must be able to answer what is wrong."""
    path = tmp_path / "indexes.yaml"
    if content is not None:
        path.write_bytes(content)
    for loaded in (read_definitions(path), read_for_start(path)):
        assert what in str(loaded.faults[0])
        assert loaded.definitions == Definitions()


def test_a_directory_is_a_fault(tmp_path: Path) -> None:
    """Named by mistake, it is told apart from a missing file."""
    assert "cannot be read" in str(read_definitions(tmp_path).faults[0])


def test_a_byte_order_mark_is_no_fault() -> None:
    """Editors on Windows write one."""
    assert not load("\ufeff" + HEAD + "  {}").faults


def test_a_container_without_a_declared_partition_key_has_its_id() -> None:
    """As containers that are partitioned by `/id`."""
    text = "version: 1\nsources: {s: {cosmos: {database: d, container: c}}}\nindexes: {}\n"
    assert load(text).require().sources["s"].partition_key == ("id",)
