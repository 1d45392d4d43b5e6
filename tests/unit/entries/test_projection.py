"""Projection: which entries a fact has in an index, under which keys, with which columns."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from shared.definitions.loading.load import load
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.changes.event_changes import EventReader
from shared.entries.projection.projector import Entry, Projector
from shared.entries.rows.columns import read_columns
from shared.errors import UnprojectableError

COSMOS = "cosmos: {database: d, container: c}, partitionKey: pk"


def entries(body: str, document: dict[str, Any], source: str = COSMOS) -> tuple[Entry, ...]:
    """The entries of a document in an index with this body."""
    text = f"version: 1\nsources: {{s: {{{source}}}}}\nindexes: {{i: {{source: s, {body}}}}}"
    definitions = load(text).require()
    found = definitions.sources["s"]
    change = CosmosReader(found).latest({"id": "1", "pk": "p", "_ts": 1, "_lsn": 1, **document})
    return Projector(definitions.indexes["i"], found).project(change)


def keys(body: str, document: dict[str, Any]) -> list[tuple[str, str]]:
    """PartitionKey and sort parts of each entry."""
    return [(entry.partition_key, entry.entry_key.removesuffix("p !1 !")) for entry in entries(body, document)]


def data(body: str, document: dict[str, Any]) -> dict[str, Any]:
    """What a lookup would show as `data` of the one entry."""
    (entry,) = entries(body, document)
    return read_columns(entry.columns).document


def test_a_fact_has_one_entry_under_its_key() -> None:
    """Partition, sort, then the fact key: partition key and id."""
    (entry,) = entries(
        "partition: town, sort: [last, first], project: [phone]",
        {"town": "Kent", "last": "Ng", "first": "Bo", "phone": "5"},
    )
    assert (entry.partition_key, entry.entry_key) == ("Kent !", "Ng !Bo !p !1 !")
    stored = read_columns(entry.columns)
    assert stored.key == {"town": "Kent", "last": "Ng", "first": "Bo"}
    assert (stored.id, stored.partition_key, stored.document) == ("1", ("p",), {"phone": "5"})


def test_a_delete_has_no_entries() -> None:
    """Whatever the index projects."""
    source = COSMOS + ", deletes: {when: gone}"
    assert entries("partition: town", {"town": "Kent", "gone": True}, source) == ()


@pytest.mark.parametrize("document", [{}, {"town": None}, {"town": "Kent", "last": None}])
def test_a_null_part_leaves_the_fact_out(document: dict[str, Any]) -> None:
    """Indexes are sparse unless they say otherwise."""
    assert keys("partition: town, sort: last", document) == []


def test_a_null_decides_before_a_wrong_type_does() -> None:
    """A fact that is not indexed cannot be a dead letter."""
    assert keys("partition: {path: n, type: integer}, sort: last", {"n": "many"}) == []


def test_kept_nulls_sort_first_and_last_in_desc() -> None:
    """`nulls: index` keeps them, and the stored key says null."""
    body = "partition: town, sort: [{path: a, nulls: index}, {path: b, nulls: index, order: desc}]"
    assert keys(body, {"town": "Kent"}) == [("Kent !", "   !~ !")]
    (entry,) = entries(body, {"town": "Kent"})
    assert read_columns(entry.columns).key == {"town": "Kent", "a": None, "b": None}


def test_where_leaves_facts_out() -> None:
    """Filtered indexes hold only what they are for."""
    body = "partition: town, where: active && total > `5`"
    assert len(keys(body, {"town": "Kent", "active": 1, "total": 6})) == 1
    assert keys(body, {"town": "Kent", "active": 0, "total": 6}) == []
    assert keys(body, {"town": "Kent", "active": 1, "total": 5}) == []


@pytest.mark.parametrize(("total", "count"), [("b", 1), ("a", 0), (None, 0), (True, 0), (["b"], 0)])
def test_a_comparison_is_between_two_numbers_or_two_texts(total: object, count: int) -> None:
    """With anything else it does not hold."""
    assert len(keys("partition: town, where: total > 'a'", {"town": "Kent", "total": total})) == count


def test_each_gives_one_entry_per_element() -> None:
    """Distinct keys only; nulls are left out."""
    body = "partition: actor, each: {actor: cast}"
    found = keys(body, {"cast": ["Ann", "Bo", "Ann", None]})
    assert [partition for partition, _ in found] == ["Ann !", "Bo !"]


@pytest.mark.parametrize(("cast", "count"), [("Ann", 1), (7, 1), ([], 0), (None, 0), ([[]], None), ({"a": 1}, None)])
def test_a_scalar_counts_as_an_array_of_one(cast: object, count: int | None) -> None:
    """Nothing counts as none; what is no value for the key is a dead letter."""
    if count is None:
        with pytest.raises(UnprojectableError):
            keys("partition: actor, each: {actor: cast}", {"cast": cast})
    else:
        assert len(keys("partition: actor, each: {actor: cast}", {"cast": cast})) == count


def test_the_element_shadows_a_field_of_its_name() -> None:
    """In keys, in `where` and in `project`."""
    body = "partition: tag.name, each: {tag: tags}, where: tag.on, project: [tag]"
    document = {
        "tag": {"name": "field", "on": True},
        "tags": [{"name": "a", "on": True}, {"name": "b", "on": False}],
    }
    (entry,) = entries(body, document)
    assert entry.partition_key == "a !"
    assert read_columns(entry.columns).document == {"tag": {"name": "a", "on": True}}


def test_expressions_see_the_element_too() -> None:
    """Not only dotted paths."""
    key = """partition: {path: "join('-', [town, tag])", name: place}"""
    body = f"""{key}, each: {{tag: tags}}, where: "starts_with(tag, 'a')\""""
    assert [key for key, _ in keys(body, {"town": "Kent", "tags": ["a1", "b1", "a2"]})] == [
        "Kent-a1 !",
        "Kent-a2 !",
    ]


def test_equal_folded_keys_in_one_array_are_one_entry() -> None:
    """The first element wins and keeps its spelling."""
    (entry,) = entries(
        "partition: {path: tag, fold: case}, each: {tag: tags}", {"tags": ["Straße", "STRASSE", "strasse"]}
    )
    assert entry.partition_key == "strasse !"
    assert read_columns(entry.columns).key == {"tag": "Straße"}


def test_project_keeps_the_shape_of_the_document() -> None:
    """Just these paths, nested as they were; nulls are kept, what is missing stays missing."""
    document = {
        "town": "Kent",
        "a": {"b": {"c": 1, "d": 2}, "e": 3},
        "n": None,
        "Major Genre": "x",
        "list": [{"z": 1}],
    }
    body = """partition: town, project: [a.b.c, n, missing, '"Major Genre"', list, town.below, list.z]"""
    assert data(body, document) == {"a": {"b": {"c": 1}}, "n": None, "Major Genre": "x", "list": [{"z": 1}]}


def test_a_path_takes_what_is_below_it_too() -> None:
    """`a` and `a.b` together are `a`."""
    document = {"town": "Kent", "a": {"b": 1, "c": 2}}
    assert data("partition: town, project: [a.b, a]", document) == {"a": {"b": 1, "c": 2}}


def test_project_all_is_the_document_without_what_cosmos_added() -> None:
    """A field of the user's own that begins with _ stays."""
    document = {"town": "Kent", "_own": 1, "_etag": "e", "_rid": "r"}
    assert data("partition: town, project: all", document) == {
        "id": "1",
        "pk": "p",
        "town": "Kent",
        "_own": 1,
    }


def test_project_keys_carries_nothing() -> None:
    """Only the key and the fact that it refers to."""
    (entry,) = entries("partition: town, project: keys", {"town": "Kent", "phone": "5"})
    assert set(entry.columns) == {"_fact", "_key"}
    assert not entry.is_reference


def test_key_values_are_typed() -> None:
    """Coerced to the part's type, instants normalised."""
    body = "partition: {path: n, type: integer}, sort: [{path: t, type: datetime}, {path: b, type: boolean}]"
    (entry,) = entries(body, {"n": "12", "t": "2024-05-01T14:00:00+02:00", "b": True})
    assert read_columns(entry.columns).key == {"n": 12, "t": "2024-05-01T12:00:00Z", "b": True}


def test_a_shard_follows_from_the_fact_alone() -> None:
    """Hot values have their own number of shards; facts spread over all of them."""
    body = "partition: town, shards: 4, hot: {Kent: 64}"
    shards = {entries(body, {"town": "Kent", "id": str(n)})[0].partition_key for n in range(500)}
    assert len(shards) == 64
    others = {entries(body, {"town": "Rome", "id": str(n)})[0].partition_key for n in range(50)}
    assert others == {f"00{n} Rome !" for n in range(4)}


def test_the_digest_tells_columns_apart() -> None:
    """It changes with what is stored and with nothing else."""
    body = "partition: town, project: [phone]"
    one, same = (
        entries(body, {"town": "Kent", "phone": 5, "fax": 1}),
        entries(body, {"fax": 2, "phone": 5, "town": "Kent"}),
    )
    assert one[0].digest == same[0].digest
    for phone in ("5", 5.0, None, 6):
        assert entries(body, {"town": "Kent", "phone": phone})[0].digest != one[0].digest


@pytest.mark.parametrize(
    ("body", "document", "reason"),
    [
        ("partition: town", {"town": ["a"]}, 'a list of 1 at "town" is not of type string'),
        ("partition: {path: n, type: integer}", {"n": 1.5}, '1.5 at "n" is not of type integer'),
        (
            "partition: {path: n, type: number}",
            {"n": 2**53 + 1},
            '9007199254740993 at "n" is not of type number',
        ),
        ("partition: {path: n, type: number}", {"n": float("nan")}, 'nan at "n" is not of type number'),
        ("partition: {path: b, type: boolean}", {"b": 1}, '1 at "b" is not of type boolean'),
        ("partition: {path: t, type: datetime}", {"t": "soon"}, "'soon' at \"t\" is not of type datetime"),
        ("partition: town", {"town": "\ud800"}, r"""'\ud800' at "town" is not of type string"""),
        ("partition: town", {"town": "Kent", "x": float("nan")}, "NaN and infinity"),
        ("partition: town", {"town": "Kent", "x": {"y": [float("inf")]}}, "NaN and infinity"),
        ("partition: town", {"town": "Kent", "x": "\ud800"}, "lone surrogate"),
        ("partition: town", {"town": "Kent", "\udfff": 1}, "lone surrogate"),
        ("partition: town, where: length(n) > `1`", {"town": "Kent", "n": 5}, "length()"),
        ("partition: town, where: n > `1`", {"town": "Kent", "n": "5"}, "values of different types cannot be compared"),
        ("partition: tag, each: {tag: tags}", {"tags": ["a", {"b": 1}]}, 'an object of 1 at "tag"'),
    ],
)
def test_a_fact_that_does_not_fit_is_a_dead_letter_with_a_reason(
    body: str, document: dict[str, Any], reason: str
) -> None:
    """It names the path, the value and the expected type."""
    with pytest.raises(UnprojectableError) as caught:
        entries(body, document)
    assert reason[1:] in str(caught.value)


def test_a_2_mb_document_falls_back_to_a_reference() -> None:
    """Marked, and as small as a reference is."""
    (entry,) = entries("partition: town", {"town": "Kent", "blob": "x" * 2_000_000})
    assert entry.is_reference
    stored = read_columns(entry.columns)
    assert (stored.is_reference, stored.document, stored.key) == (True, {}, {"town": "Kent"})


def test_a_large_document_that_fits_is_split() -> None:
    """Half a million characters are almost 1 MiB as the service counts."""
    document = {"town": "Kent", "blob": "x" * 510_000}
    (entry,) = entries("partition: town, project: [blob]", document)
    assert not entry.is_reference
    assert read_columns(entry.columns).document == {"blob": document["blob"]}
    assert all(len(value) <= 32 * 1024 for value in entry.columns.values() if isinstance(value, str))


def test_without_a_container_what_does_not_fit_is_a_dead_letter() -> None:
    """There is nothing to refer to."""
    text = "version: 1\nsources: {s: {eventHub: h}}\nindexes: {i: {source: s, partition: town}}"
    definitions = load(text).require()
    source = definitions.sources["s"]
    body = '{"op": "upsert", "document": {"id": "1", "town": "Kent", "blob": "%s"}}' % ("x" * 600_000)
    change = EventReader(source).read(body.encode(), datetime(2024, 1, 1, tzinfo=UTC), 1)
    with pytest.raises(UnprojectableError, match="over 1 MiB, and the source has no container"):
        Projector(definitions.indexes["i"], source).project(change)


def test_a_key_value_over_1_mib_is_a_dead_letter() -> None:
    """Not even a reference could hold it."""
    with pytest.raises(UnprojectableError, match="The values of its key are over 1 MiB"):
        entries("partition: town", {"town": "x" * 600_000})


def test_a_long_key_is_cut_and_stored_whole() -> None:
    """The reader compares the stored value."""
    (entry,) = entries("partition: town, sort: last", {"town": "t" * 5_000, "last": "n" * 5_000})
    assert (len(entry.partition_key), len(entry.entry_key)) == (508, 340 + len("p !1 !"))
    assert read_columns(entry.columns).key == {"town": "t" * 5_000, "last": "n" * 5_000}


def test_10_000_elements_are_a_dead_letter_before_any_column_is_made() -> None:
    """The limit is 1000 entries per fact; the array itself may be as long as it likes."""
    body = "partition: tag, each: {tag: tags}"
    with pytest.raises(UnprojectableError, match="Its 10000 elements give entries over the limit of 1000"):
        entries(body, {"tags": [str(n) for n in range(10_000)]})
    assert len(entries(body, {"tags": [str(n % 1000) for n in range(10_000)]})) == 1000


def test_300_properties_are_projected() -> None:
    """More than a row has room for as columns."""
    document = {"town": "Kent", **{f"f{n}": n for n in range(300)}}
    (entry,) = entries("partition: town", document)
    assert len(entry.columns) <= 252
    assert read_columns(entry.columns).document == {"id": "1", "pk": "p", **document}
