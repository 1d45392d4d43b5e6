"""Forms of events: documents, Debezium, mappings; and what is wrong with an event that has none of them."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from shared.definitions.loading.load import load
from shared.entries.changes.event_changes import EventReader
from shared.entries.changes.event_forms.extended_json import plain_json
from shared.entries.keys.fact_key import MISSING
from shared.errors import IgnoredEventError, UnreadableChangeError

if TYPE_CHECKING:
    from shared.entries.changes.change import Change

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ROW = {"id": 7, "town": "Oslo"}


def read(body: object, source: str, number: int = 7, **more: Any) -> Change:
    """The change that an event is to a source with this definition."""
    text = f"version: 1\nsources: {{orders: {{eventHub: hub, {source}}}}}\nindexes: {{}}"
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return EventReader(load(text).require().sources["orders"]).read(raw, NOON, number, **more)


def reason(body: object, source: str, **more: Any) -> str:
    """Why an event cannot be read."""
    with pytest.raises(UnreadableChangeError) as caught:
        read(body, source, **more)
    return str(caught.value)


# ---------------------------------------------------------------------------------------------------- bodies


@pytest.mark.parametrize("form", ["envelope", "document", "debezium", "{document: data}"])
@pytest.mark.parametrize(
    ("body", "what"),
    [
        (gzip.compress(b"{}", mtime=0), "compressed with gzip: send it uncompressed"),
        (b"Obj\x01\x04\x14avro.codec", "Avro: let the sender use a JSON converter"),
        (b"\x00\x00\x00\x00\x07\x02\x0a", "Avro: let the sender use a JSON converter"),
        (b'\x00\x00\x00\x00\x07{"id": 7}', "the header of a schema registry before it: let the sender use a plain"),
        (b'{"town": "\xff"}', "it is not UTF-8"),
        (b'{"town": "\xed\xa0\x80"}', "it is not UTF-8"),
        (json.dumps(ROW).encode("utf-16"), "it is not UTF-8"),
        (b"{", "is not JSON"),
        (b'"{\\"id\\""', "in JSON: send the object itself"),
        (json.dumps(json.dumps(json.dumps(ROW))).encode(), "three times or more: encode the object once"),
    ],
)
def test_a_body_that_is_no_json_says_what_it_is(form: str, body: bytes, what: str) -> None:
    """Whatever form the source expects."""
    assert what in reason(body, f"events: {form}")


@pytest.mark.parametrize("form", ["document", "debezium", "{id: id}"])
@pytest.mark.parametrize("body", [[ROW], 5, True, "5"])
def test_json_that_is_no_object_is_refused(form: str, body: object) -> None:
    """One event is one change."""
    assert reason(body, f"events: {form}")


def test_json_that_was_encoded_twice_is_unwrapped_once() -> None:
    """As `JSON.stringify` of a text does it."""
    assert read(json.dumps(ROW), "events: document").document == ROW
    assert read(json.dumps({"op": "upsert", "document": ROW}), "events: envelope").id == "7"


def test_a_mark_of_utf_8_before_a_body_is_passed_over() -> None:
    """Some senders on Windows write one."""
    assert read(json.dumps(ROW).encode("utf-8-sig"), "events: document").document == ROW


# ---------------------------------------------------------------------------------------------------- documents


def test_a_document_is_the_fact() -> None:
    """It says itself what identifies it, which version it is, and whether it is deleted."""
    source = "events: document, partitionKey: town, version: revision, deletes: {when: gone}"
    change = read({**ROW, "revision": 3}, source)
    assert (change.id, change.partition_key, change.is_delete) == ("7", ("Oslo",), False)
    assert read({**ROW, "revision": 3, "gone": True}, source).is_delete


def test_a_document_that_looks_like_a_record_is_one_only_with_a_schema() -> None:
    """Kafka Connect writes the type of the payload; other documents may use both words."""
    odd = {"schema": "s", "payload": ROW}
    assert read(odd, "events: document, id: schema").document == odd
    assert read({"schema": {"type": "struct"}, "payload": ROW}, "events: document").document == ROW


def test_an_empty_event_is_no_document() -> None:
    """A fact may have been deleted, and nobody says which."""
    assert "does not say which fact is meant" in reason(b"", "events: document")


# ---------------------------------------------------------------------------------------------------- Debezium


def debezium(op: str, before: object = None, after: object = None, **source: Any) -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "source": {"ts_ms": 1_000, **source}, "ts_ms": 2_000}


@pytest.mark.parametrize("op", ["c", "r", "u"])
def test_what_is_after_is_upserted(op: str) -> None:
    """With or without the schema around it."""
    event = debezium(op, None, ROW)
    change = read(event, "events: debezium")
    assert (change.id, change.document) == ("7", ROW)
    assert read({"schema": {"type": "struct"}, "payload": event}, "events: debezium") == change
    assert read({"schema": None, "payload": event}, "events: debezium") == change


@pytest.mark.parametrize(
    "body", [b"", b"null", b'{"schema": null, "payload": null}', b'{"payload": null}', b'{"op": "m", "message": {}}']
)
def test_what_is_about_no_row_is_ignored(body: bytes) -> None:
    """Tombstones, and messages in the log of PostgreSQL."""
    with pytest.raises(IgnoredEventError):
        read(body, "events: debezium")


@pytest.mark.parametrize(
    "event",
    [
        {"ts_ms": 1_794_931_201_000},
        {"status": "BEGIN", "id": "571:53195829", "ts_ms": 1, "event_count": None, "data_collections": None},
        {"status": "END", "id": "571:53195832", "ts_ms": 1, "event_count": 1, "data_collections": [{"event_count": 1}]},
        {"source": {"table": "orders"}, "ts_ms": 1, "databaseName": "shop", "ddl": "DROP TABLE a", "tableChanges": []},
        {"source": {"table": "orders"}, "databaseName": "shop", "ddl": None, "tableChanges": [{"type": "CREATE"}]},
    ],
    ids=["heartbeat", "begin", "end", "statement", "structure"],
)
def test_what_a_connector_says_beside_changes_of_rows_is_ignored(event: dict[str, Any]) -> None:
    """Heartbeats, the bounds of transactions, and changes of tables, where all topics share a hub."""
    for body in (event, {"schema": {"type": "struct"}, "payload": event}):
        with pytest.raises(IgnoredEventError):
            read(body, "events: debezium")


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({"connector": "postgresql", "lsn": 9, "ts_ms": 5_000}, {"connector": "postgresql", "lsn": 10, "ts_ms": 1_000}),
        ({"connector": "postgresql", "lsn": 9, "ts_ms": 1}, {"connector": "postgresql", "lsn": 9, "ts_ms": 2}),
        ({"file": "binlog.000009", "pos": 900, "ts_ms": 9}, {"file": "binlog.000010", "pos": 4, "ts_ms": 1}),
        ({"file": "binlog.000010", "pos": 4, "ts_ms": 1}, {"file": "binlog.000010", "pos": 5, "ts_ms": 1}),
        ({"connector": "mysql", "file": "", "pos": 0, "ts_ms": 9}, {"connector": "mysql", "file": "b.1", "pos": 4}),
        ({"connector": "postgresql", "lsn": None, "ts_ms": 9}, {"connector": "postgresql", "lsn": 1, "ts_ms": 1}),
        ({"connector": "mongodb", "ts_ms": 1_000, "ord": 9}, {"connector": "mongodb", "ts_ms": 1_000, "ord": 10}),
        ({"connector": "mongodb", "ts_ms": 1_000, "ord": 9}, {"connector": "mongodb", "ts_ms": 2_000, "ord": 1}),
        ({"connector": "sqlserver", "ts_ms": 1_000}, {"connector": "sqlserver", "ts_ms": 1_001}),
    ],
)
def test_the_log_of_the_database_orders_versions(earlier: dict[str, Any], later: dict[str, Any]) -> None:
    """Where it has no place, the time does; nothing depends on when an event arrived."""
    first = read(debezium("u", None, ROW, **earlier), "events: debezium", number=9)
    assert first.version < read(debezium("u", None, ROW, **later), "events: debezium", number=1).version


def test_of_one_clock_value_a_delete_is_last_and_two_documents_have_an_order() -> None:
    """Any order will do, as long as every worker sees the same one."""
    one, other = (read(debezium("u", None, {**ROW, "n": n}), "events: debezium").version for n in (1, 2))
    assert one != other
    assert read(debezium("d", ROW), "events: debezium").version > max(one, other)


def test_a_declared_version_is_read_from_the_row() -> None:
    """Then the database's own clock does not matter."""
    source = "events: debezium, version: revision"
    older = read(debezium("u", None, {**ROW, "revision": 2}, lsn=9), source).version
    assert older < read(debezium("u", None, {**ROW, "revision": 3}, lsn=1), source).version


def test_the_time_of_the_event_stands_in_for_that_of_the_source() -> None:
    """Some connectors leave it out."""
    event = {"op": "c", "after": ROW, "ts_ms": 5}
    assert read(event, "events: debezium").version.startswith("5".zfill(16))


@pytest.mark.parametrize(
    ("before", "key"),
    [
        (ROW, None),
        ({"id": 7, "town": None}, None),
        (None, '{"id": 7}'),
        (None, '{"schema": {"type": "struct"}, "payload": {"id": 7}}'),
        (None, '{"id": "7"}'),
    ],
)
def test_a_delete_is_known_by_the_row_or_by_the_key(before: object, key: str | None) -> None:
    """One of them is enough."""
    change = read(debezium("d", before), "events: debezium", key=key)
    assert (change.id, change.is_delete) == ("7", True)


@pytest.mark.parametrize("key", ['{"id": "{\\"$oid\\": \\"66f1\\"}"}', '{"id": "\\"66f1\\""}', '{"id": "66f1"}'])
def test_a_key_of_mongodb_has_the_id_as_a_text(key: str) -> None:
    """In extended JSON."""
    assert read(debezium("d"), "events: debezium, id: _id", key=key).id == "66f1"


@pytest.mark.parametrize("before", [None, '{"_id": {"$oid": "66f1"}, "id": "own", "number": 8}'])
def test_the_id_of_a_document_of_mongodb_is_what_its_key_has(before: str | None) -> None:
    """A field that happens to be called `id` is none: a delete alone could not name it, and its entry would stay."""
    key = '{"id": "{\\"$oid\\": \\"66f1\\"}"}'
    after = '{"_id": {"$oid": "66f1"}, "id": "own", "number": 8}'
    upsert = read(debezium("c", before, after, connector="mongodb"), "events: debezium", key=key)
    assert (upsert.id, upsert.document) == ("66f1", {"_id": "66f1", "id": "own", "number": 8})
    gone = read(debezium("d", before, connector="mongodb"), "events: debezium", key=key)
    assert (gone.id, gone.is_delete) == ("66f1", True)
    numbered = "events: debezium, id: number"
    assert read(debezium("c", None, after, connector="mongodb"), numbered, key=key).id == "8"
    if before is None:
        assert 'the delete does not say "number"' in reason(debezium("d", connector="mongodb"), numbered, key=key)


@pytest.mark.parametrize(
    ("event", "source", "what"),
    [
        (debezium("t"), "", 'the table was truncated ("op" t), which does not name its facts: delete rows'),
        (debezium("d"), "", 'it is a delete without "before", and its record has no key in JSON: send the key'),
        (debezium("d", {"town": "Oslo"}), "", 'the delete does not say "id"'),
        (debezium("d", {"id": 7, "town": None}), ", partitionKey: town", 'the delete does not say "town": let its'),
        (debezium("d", ROW), ", version: revision", 'the delete does not say "revision": let its database log whole'),
        (debezium("u"), "", 'it has no "after": let the connector send whole documents'),
        (debezium("u", None, {**ROW, "note": "__debezium_unavailable_value"}), "", 'not have the value of "note"'),
        (debezium("u", {**ROW, "town": "Kent"}, ROW), ", partitionKey: town", "changed from 'Kent' to 'Oslo'"),
        ({"schema": {"type": "struct"}}, "", 'it has a "schema" and no "payload"'),
        (debezium("x", None, ROW), "", "the event has the \"op\" 'x': it is not a change event of Debezium"),
        ({"id": 7}, "", 'the event has the "op" None: it is not a change event'),
        ({"op": "c", "after": ROW, "source": {}}, "", 'None at "source.ts_ms" is not a version: send it, or declare'),
        ({"op": "c", "after": ROW, "source": {"ts_ms": "now"}}, "", "'now' at \"source.ts_ms\" is not a version"),
        ({"op": "c", "after": ROW, "source": {"lsn": -4, "ts_ms": 5}}, "", '-4 at "source.lsn" is not a version'),
        ({"op": "c", "after": ROW, "source": {"lsn": 4, "ts_ms": "x"}}, "", "'x' at \"source.ts_ms\" is not a version"),
        ({"op": "c", "after": ROW, "source": {"ord": "x", "ts_ms": 5}}, "", "'x' at \"source.ord\" is not a version"),
    ],
)
def test_an_event_of_debezium_that_cannot_be_read_says_what_to_do(event: object, source: str, what: str) -> None:
    """A dead letter, never a guess."""
    assert what in reason(event, f"events: debezium{source}")


CLOUD_EVENT = {
    "id": "name:test_server;lsn:29274832;txId:565",
    "source": "/debezium/postgresql/test_server",
    "specversion": "1.0",
    "type": "io.debezium.connector.postgresql.DataChangeEvent",
    "time": "2020-01-13T13:55:39.738Z",
    "datacontenttype": "application/json",
    "iodebeziumop": "r",
    "iodebeziumconnector": "postgresql",
    "iodebeziumtsms": "1578923739738",
    "iodebeziumtable": "a",
    "iodebeziumlsn": "29274832",
    "iodebeziumxmin": None,
    "data": {"before": None, "after": ROW},
}


@pytest.mark.parametrize("data", [CLOUD_EVENT["data"], {"schema": {"type": "struct"}, "payload": CLOUD_EVENT["data"]}])
def test_a_change_that_was_wrapped_as_a_cloud_event_is_the_same_change(data: object) -> None:
    """Also for `when`; the attributes are what stood in `source`."""
    plain = debezium("r", None, ROW, connector="postgresql", ts_ms=1578923739738, table="a", lsn=29274832)
    source = "events: {form: debezium, when: source.table == 'a'}"
    assert read({**CLOUD_EVENT, "data": data}, source) == read(plain, source)


def test_a_change_in_binary_mode_is_the_same_change() -> None:
    """Attributes as headers, though Debezium does not send them so yet."""
    headers = {f"ce_{name}": value for name, value in CLOUD_EVENT.items() if name != "data"}
    assert read(CLOUD_EVENT["data"], "events: debezium", properties=headers) == read(CLOUD_EVENT, "events: debezium")


def test_a_change_with_data_in_avro_says_how_to_send_json() -> None:
    """The converter writes it in Base64."""
    event = {**CLOUD_EVENT, "datacontenttype": "application/avro", "data": "AAAAAAEAAgICAg=="}
    assert 'set "value.converter.data.serializer.type" to json' in reason(event, "events: debezium")


def test_a_change_of_debezium_in_an_envelope_names_the_form() -> None:
    """Its type ends in neither .upserted nor .deleted, and no other type would help."""
    assert 'it is a change event of Debezium: write "events: debezium"' in reason(CLOUD_EVENT, "events: envelope")


def test_types_of_mongodb_are_written_plainly() -> None:
    """So that keys and entries have what a person expects."""
    document = {
        "_id": {"$oid": "66f1"},
        "n": [{"$numberLong": "5"}, {"$numberInt": "6"}, {"$numberDouble": "1.5"}, {"$numberDouble": "NaN"}],
        "price": {"$numberDecimal": "1.10"},
        "at": {"$date": 0},
        "then": {"$date": {"$numberLong": "-1"}},
        "kept": {"$binary": {"base64": "AA==", "subType": "00"}},
        "odd": {"$numberLong": "no"},
    }
    assert plain_json(document) == {
        "_id": "66f1",
        "n": [5, 6, 1.5, "NaN"],
        "price": "1.10",
        "at": "1970-01-01T00:00:00.000Z",
        "then": "1969-12-31T23:59:59.999Z",
        "kept": {"$binary": {"base64": "AA==", "subType": "00"}},
        "odd": {"$numberLong": "no"},
    }


# ---------------------------------------------------------------------------------------------------- mappings

MAPPING = (
    "events: {when: type == 'changed', id: data.id, partitionKey: [data.shop, region], version: data.rev, "
    "document: data, delete: data.gone}"
)
EVENT = {"type": "changed", "region": None, "id": "e-1", "data": {"id": 7, "shop": "s", "rev": 3, "gone": False}}


def test_a_mapping_says_where_everything_is() -> None:
    """An `id` of the event itself does not matter; null is a partition key value."""
    change = read(EVENT, MAPPING)
    assert (change.id, change.partition_key, change.document) == ("7", ("s", None), EVENT["data"])
    assert change.version.startswith("3".zfill(26))
    assert read({**EVENT, "data": {**EVENT["data"], "gone": 1}}, MAPPING).is_delete  # type: ignore[dict-item]


def test_a_mapping_may_find_an_id_beside_a_document_with_another() -> None:
    """The document's own `id` means nothing where the mapping says where the fact's id is."""
    assert read({"key": "k", "data": {"id": "own"}}, "events: {id: key, document: data}").id == "k"


def test_what_a_mapping_does_not_say_stands_in_the_document() -> None:
    """Which by default is the whole event; the clock is then the hub's."""
    change = read({"id": "1", "shop": "s", "n": 1}, "partitionKey: shop, events: {when: n}")
    assert (change.id, change.partition_key, change.document) == ("1", ("s",), {"id": "1", "shop": "s", "n": 1})


def test_a_delete_needs_no_document_at_the_path() -> None:
    """Who it was and when is enough."""
    event = {"id": "1", "v": 2, "what": "removed"}
    assert read(event, "events: {id: id, version: v, document: data, delete: what == 'removed'}").is_delete


def test_what_the_mapping_is_not_about_is_ignored() -> None:
    """Nothing of it is read."""
    with pytest.raises(IgnoredEventError):
        read({"type": "other"}, MAPPING)


def test_a_list_of_events_is_ignored_only_if_none_of_them_is_meant() -> None:
    """One event is one change: a batch of CloudEvents would be lost without a word."""
    what = "it is a list of 2, and one of them is meant: send each as an event of its own"
    assert what in reason([{"type": "other"}, EVENT], MAPPING)
    table = "events: {form: debezium, when: source.table == 'orders'}"
    assert what in reason([{"schema": {}, "payload": {"source": {"table": "orders"}}}, 5], table)
    lists: list[list[Any]] = [[{"type": "other"}, 5], [{"schema": {}}], []]
    for foreign in lists:
        for source in (MAPPING, table):
            with pytest.raises(IgnoredEventError):
                read(foreign, source)


def test_a_mapping_may_be_about_a_list() -> None:
    """Of one event, as some senders write it."""
    assert read([EVENT], "events: {when: \"[0].type == 'changed'\", document: '[0].data'}").id == "7"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"id": None}, 'there is nothing at "data.id", the "id" of "events": correct the path'),
        ({"shop": MISSING}, 'there is nothing at "data.shop", the "partitionKey" of "events"'),
        ({"rev": None}, 'there is nothing at "data.rev", the "version" of "events"'),
        ({"rev": "soon"}, "'soon' at \"data.rev\" is not a version"),
        ({"id": [1]}, 'a list of 1 at "data.id" is not an id'),
        ({"shop": {}}, "an object of 0 is not a partition key value"),
    ],
)
def test_a_path_that_gives_nothing_is_named(change: dict[str, Any], what: str) -> None:
    """With what it was for."""
    data = {**EVENT["data"], **change}  # type: ignore[dict-item]
    event = {**EVENT, "data": {name: value for name, value in data.items() if value is not MISSING}}
    assert what in reason(event, MAPPING)


def test_a_document_that_is_not_there_is_named() -> None:
    """An upsert without a fact is none."""
    assert 'there is nothing at "data", the "document" of "events"' in reason({"id": "1"}, "events: {document: data}")
    assert "the document is 'x': send a JSON object" in reason({"data": "x"}, "events: {document: data}")


def test_a_condition_that_cannot_be_evaluated_is_a_dead_letter() -> None:
    """It is not known whether the event was meant."""
    source = "events: {when: \"starts_with(type, 'com.')\"}"
    assert '"events.when" cannot be evaluated' in reason({"type": 5}, source)
