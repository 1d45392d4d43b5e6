"""The least that aiohttp and SQLite can do for a document: one handler, one upsert, the document as the answer.

python -m bench.bare_upsert_server PORT FOLDER
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import orjson
from aiohttp import web

_UPSERT = (
    "INSERT INTO documents (key, id, body) VALUES (?, ?, ?) ON CONFLICT (key, id) DO UPDATE SET body = excluded.body"
)


def _open(folder: Path) -> sqlite3.Connection:
    """As durable as the local Cosmos DB: the write-ahead log, one transaction per upsert."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE documents (key TEXT, id TEXT, body BLOB, PRIMARY KEY (key, id)) WITHOUT ROWID")
    return connection


def main() -> None:
    """Serve until killed."""
    connection = _open(Path(sys.argv[2]))

    async def upsert(request: web.Request) -> web.Response:
        document = orjson.loads(await request.read())
        body = orjson.dumps(document)
        connection.execute(_UPSERT, (document["pk"], document["id"], body))
        return web.Response(status=201, body=body, content_type="application/json")

    application = web.Application()
    application.router.add_post("/{path:.*}", upsert)
    web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)


if __name__ == "__main__":
    main()
