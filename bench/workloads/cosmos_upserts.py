"""What an upsert costs in the local Cosmos DB (signature, sequence, versions), against one bare SQLite upsert."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import tempfile
from email.utils import formatdate
from typing import TYPE_CHECKING
from urllib.parse import quote

import orjson
from aiohttp import ClientSession

from bench.case import Case
from bench.measurement import Bar
from bench.processes import module_serving
from local.emulators.cosmos.http.options import EMULATOR_KEY
from local.process import ports

if TYPE_CHECKING:
    from bench.measurement import Measurement
    from bench.meter import Meter

NAME = "cosmos-upserts"
UPSERTS = 2000
DOCUMENTS = 500
IN_FLIGHT = 8
_FILLING = "x" * 500


def signed(method: str, kind: str, link: str) -> dict[str, str]:
    """The headers of a request, signed as every client does."""
    date = formatdate(usegmt=True)
    text = f"{method.lower()}\n{kind}\n{link}\n{date.lower()}\n\n"
    signature = base64.b64encode(hmac.digest(base64.b64decode(EMULATOR_KEY), text.encode(), hashlib.sha256))
    token = quote(f"type=master&ver=1.0&sig={signature.decode()}", safe="")
    return {"authorization": token, "x-ms-date": date}


async def create(session: ClientSession, base: str) -> None:
    """The database and container that the upserts go to."""
    for kind, link, body in (
        ("dbs", "", {"id": "bench"}),
        ("colls", "dbs/bench", {"id": "facts", "partitionKey": {"paths": ["/pk"]}}),
    ):
        url = f"{base}/{link}/{kind}".replace("//dbs", "/dbs")
        async with session.post(url, data=orjson.dumps(body), headers=signed("POST", kind, link)) as answer:
            answer.raise_for_status()


def upserts(name: str, session: ClientSession, base: str, operations: int) -> Case:
    """Signed upserts of some 600 bytes over 500 documents, eight in flight."""
    link = "dbs/bench/colls/facts"

    async def worker(first: int) -> int:
        answers = 0
        for number in range(first, operations, IN_FLIGHT):
            key = f"p{number % DOCUMENTS}"
            body = orjson.dumps({"id": str(number % DOCUMENTS), "pk": key, "n": number, "filling": _FILLING})
            headers = {
                **signed("POST", "docs", link),
                "x-ms-documentdb-is-upsert": "True",
                "x-ms-documentdb-partitionkey": orjson.dumps([key]).decode(),
            }
            async with session.post(f"{base}/{link}/docs/", data=body, headers=headers) as answer:
                await answer.read()
                answers += answer.ok
        return answers

    async def run() -> dict[str, int]:
        return {"answers": sum(await asyncio.gather(*(worker(first) for first in range(IN_FLIGHT))))}

    return Case(name, operations, run)


async def measure(meter: Meter) -> list[Measurement]:
    """The same client, the same requests, two servers."""
    operations = meter.scaled(UPSERTS)
    cosmos_port, bare_port = ports.any_free(2)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as bare_folder:
        async with (
            module_serving(cosmos_port, "local", "cosmos", "--port", str(cosmos_port), "--data", folder) as ours,
            module_serving(bare_port, "bench.bare_upsert_server", str(bare_port), bare_folder) as bare,
            ClientSession() as session,
        ):
            await create(session, ours)
            return [
                await meter.compare(
                    "upsert",
                    unit="document",
                    subject=upserts("local Cosmos DB", session, ours, operations),
                    yardsticks=[upserts("bare SQLite upsert", session, bare, operations)],
                    bars=[Bar(at_most=1.5, against="bare SQLite upsert")],
                )
            ]
