"""The stored state of an app as JSON that people can read, and the way back.

Rows are as the Table service's JSON has them, with the types that it annotates. Compressed columns are shown as what
they hold, because two builds of zlib may compress the same text to other bytes. A sketch is shown as the few words of
it that are not zero. Whole documents that are too large to be kept here have a placeholder for their noise.
"""

from __future__ import annotations

import json
import random
import zlib
from base64 import b64decode, b64encode
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.stored.app import FIRST_ACCOUNT, SECOND_ACCOUNT, SWEEP_QUEUE, TASK_QUEUE, ReceivedEvent, StoredApp

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.stored.app import MemoryTables

Rows = list[dict[str, Any]]

SNAPSHOT_FILE = Path(__file__).parent / "snapshot.json"
TYPE = "@odata.type"
_NOISE_MARK = "<noise>"
_NOISE_CHARACTERS = 1_900_000
_WORD_BYTES = 8


@cache
def noise() -> str:
    """A text that no row has room for, however well it is compressed."""
    return random.Random(7).randbytes(_NOISE_CHARACTERS // 2).hex()


def snapshot_of(app: StoredApp) -> dict[str, Any]:
    """Everything that is stored, and the world around it."""
    return {
        "seconds": app.seconds,
        "writes": app.writes,
        "accounts": {FIRST_ACCOUNT: _tables(app.first), SECOND_ACCOUNT: _tables(app.second)},
        "blobs": {name: _shown_bytes(content) for name, content in sorted(app.blobs.contents.items())},
        "queues": {
            SWEEP_QUEUE: [json.loads(message) for message in app.sweeps.messages],
            TASK_QUEUE: [[json.loads(message), delay] for message, delay in app.task_messages.messages],
        },
        "facts": _tables(app.container),
        "events": [[event.body.decode(), event.enqueued.isoformat(), event[2]] for event in app.events.events],
    }


def without_prose(snapshot: dict[str, Any]) -> dict[str, Any]:
    """The same without sentences for people, which may be worded anew."""
    dead_letters = snapshot["accounts"][FIRST_ACCOUNT]["DeadLetters"]
    unworded = [{**row, "reason": bool(row["reason"])} for row in dead_letters]
    first = {**snapshot["accounts"][FIRST_ACCOUNT], "DeadLetters": unworded}
    return {**snapshot, "accounts": {**snapshot["accounts"], FIRST_ACCOUNT: first}}


def to_text(snapshot: dict[str, Any]) -> str:
    """The text of the file: one row per line, in the order of keys."""
    return _lines(snapshot, 0).replace(noise(), _NOISE_MARK) + "\n"


def row_of(rows: Rows, partition: str, row: str) -> dict[str, Any]:
    """The row with this key."""
    (found,) = [entity for entity in rows if (entity["PartitionKey"], entity["RowKey"]) == (partition, row)]
    return found


@cache
def read_snapshot() -> dict[str, Any]:
    """The committed snapshot, as `snapshot_of` gave it; not to be changed."""
    return parsed(SNAPSHOT_FILE.read_text(encoding="utf-8"))


def parsed(text: str) -> dict[str, Any]:
    """The snapshot of a text."""
    found: dict[str, Any] = json.loads(text.replace(_NOISE_MARK, noise()))
    return found


async def load_app(snapshot: dict[str, Any]) -> StoredApp:
    """A new app over what a snapshot has."""
    app = StoredApp()
    app.seconds, app.writes = snapshot["seconds"], snapshot["writes"]
    await _fill(app.first, snapshot["accounts"]["INDEX_STORAGE"])
    await _fill(app.second, snapshot["accounts"]["INDEX_2"])
    await _fill(app.container, snapshot["facts"])
    app.blobs.contents = {name: _bytes_of(shown) for name, shown in snapshot["blobs"].items()}
    app.sweeps.messages = [json.dumps(message) for message in snapshot["queues"]["index-sweep"]]
    app.task_messages.messages = [(json.dumps(message), delay) for message, delay in snapshot["queues"]["index-tasks"]]
    for body, enqueued, number in snapshot["events"]:
        app.events.events.append(app.hub_event(ReceivedEvent(body.encode(), datetime.fromisoformat(enqueued), number)))
    return app


# ---------------------------------------------------------------------------------------------------- tables


def _tables(tables: MemoryTables) -> dict[str, Rows]:
    store = tables.store
    return {table: _rows(tables, table) for table in sorted(store.tables())}


def _rows(tables: MemoryTables, table: str) -> Rows:
    bodies = [
        stored.body
        for partition in tables.store.partition_keys(table)
        for stored in tables.store.partition(table, partition).values()
    ]
    rows = [_shown_row(json.loads(body)) for body in bodies if body is not None]
    return sorted(rows, key=lambda row: (row["PartitionKey"], row["RowKey"]))


def _shown_row(fields: dict[str, Any]) -> dict[str, Any]:
    shown = dict(fields)
    for name, value in fields.items():
        if fields.get(name + TYPE) == "Edm.Binary":
            shown[name] = _shown_bytes(b64decode(value))
    return dict(sorted(shown.items()))


async def _fill(tables: MemoryTables, shown: dict[str, Rows]) -> None:
    for table, rows in shown.items():
        await tables.create_table(table)
        for row in rows:
            tables.store.put((table, row["PartitionKey"], row["RowKey"]), _entity(row))


def _entity(row: dict[str, Any]) -> dict[str, Any]:
    readers: dict[str | None, Callable[[Any], Any]] = {
        "Edm.Int64": int,
        "Edm.Double": float,
        "Edm.Binary": _bytes_of,
        None: lambda value: value,
    }
    return {name: readers[row.get(name + TYPE)](value) for name, value in row.items() if not name.endswith(TYPE)}


# ---------------------------------------------------------------------------------------------------- bytes


def _shown_bytes(raw: bytes) -> dict[str, Any]:
    try:
        return {"deflated": json.loads(zlib.decompress(raw, -zlib.MAX_WBITS))}
    except zlib.error:
        pass
    except ValueError:
        return {"deflatedBytes": b64encode(zlib.decompress(raw, -zlib.MAX_WBITS)).decode()}
    words = [raw[start : start + _WORD_BYTES].hex() for start in range(0, len(raw), _WORD_BYTES)]
    return {"bytes": len(raw), "words": {str(position): word for position, word in enumerate(words) if int(word, 16)}}


@cache
def _deflated(plain: bytes) -> bytes:
    deflater = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
    return deflater.compress(plain) + deflater.flush()


def _bytes_of(shown: dict[str, Any]) -> bytes:
    if "words" not in shown:
        is_json = "deflated" in shown
        return _deflated(_compact(shown["deflated"]).encode() if is_json else b64decode(shown["deflatedBytes"]))
    raw = bytearray(shown["bytes"])
    for position, word in shown["words"].items():
        start = int(position) * _WORD_BYTES
        raw[start : start + _WORD_BYTES] = bytes.fromhex(word)
    return bytes(raw)


# ---------------------------------------------------------------------------------------------------- text


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _lines(value: Any, depth: int) -> str:
    """Mappings of mappings and lists go over several lines; a row, or a message, is one."""
    is_row = isinstance(value, dict) and ("PartitionKey" in value or "words" in value or "deflated" in value)
    if not value or is_row or depth >= 4 or not isinstance(value, (dict, list)):
        return _compact(value)
    indent = " " * (depth + 1)
    if isinstance(value, dict):
        inner = [f"{indent}{_compact(name)}: {_lines(member, depth + 1)}" for name, member in value.items()]
        return "{\n" + ",\n".join(inner) + "\n" + " " * depth + "}"
    inner = [indent + _compact(member) for member in value]
    return "[\n" + ",\n".join(inner) + "\n" + " " * depth + "]"
