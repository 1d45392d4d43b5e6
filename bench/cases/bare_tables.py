"""The Table service over bare HTTP: signed requests made by hand, their answers not looked at."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from yarl import URL

from shared.tables.wire.sign import KeySigner
from shared.tables.wire.transport import API_VERSION
from shared.tables.wire.urls import query_path

if TYPE_CHECKING:
    from aiohttp import ClientSession

    from shared.tables.port import RowRange
    from shared.tables.wire.account import Account

_READ = {"Accept": "application/json;odata=minimalmetadata"}


@dataclass(frozen=True, slots=True)
class BareTables:
    """One account, reached with a session that the caller keeps open."""

    account: Account
    http: ClientSession

    async def query(self, table: str, rows: RowRange, limit: int) -> bytes:
        """One page of a range; a refusal raises."""
        path = query_path(table, rows, limit, (), None)
        signer = KeySigner(self.account.name, str(self.account.key), time.time)
        signed = await signer.headers(f"/{self.account.name}{path.partition('?')[0]}")
        async with self.http.get(
            URL(self.account.endpoint + path, encoded=True),
            headers={"x-ms-version": API_VERSION, **_READ, **signed},
        ) as response:
            response.raise_for_status()
            return await response.read()
