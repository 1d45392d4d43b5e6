"""Lookups for an application's own process: the same planner and reader, with Python values and without HTTP.

    async with LookupClient.connect("indexes.yaml", connection_string, timing) as client:
        page = await client.find("customers-by-town", {"town": "Redmond", "lastName.ge": "S"})
        async for entry in client.entries("movies-by-actor", {"actor": "Tom Hanks"}):
            ...

It needs read access to the index tables only, and to the list of tables for an index with tables per period. An account
is named by its connection string or, where keys are off as in what the templates make, described with a credential:

    account = Account.with_credential(table_endpoint, EntraCredential(DefaultAzureCredential()))

`expand=fact` works when it is given facts; `sees` is for the HTTP API, for which `sees_value` makes the value.
"""

from __future__ import annotations

import secrets
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shared.definitions.files import read_definitions
from shared.lookup.conditions import as_parameters
from shared.lookup.lookups import new_lookups
from shared.lookup.read_your_writes import sees_value
from shared.lookup.replicas import Replicas
from shared.tables.client import TableClient
from shared.tables.wire.account import Account

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from shared.lookup.conditions import Value
    from shared.lookup.explain import ExplanationJson
    from shared.lookup.lookups import LookupPage, Lookups
    from shared.lookup.results import FoundEntry
    from shared.sources.ports import Facts
    from shared.tables.retry import Timing
    from shared.tables.wire.transport import Wire

# No longer than the app itself, so that both use a new generation from the same moment on.
_REFRESH_SECONDS: Final = 30.0

__all__ = ["LookupClient", "sees_value"]


class LookupClient:
    """Looks up entries with Python values: None asks for nulls, a datetime without zone is UTC."""

    def __init__(self, lookups: Lookups) -> None:
        self._lookups = lookups

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        definitions: str | Path,
        storage: str | Account,
        timing: Timing,
        facts: Facts | None = None,
        placed: Mapping[str, str | Account] | None = None,
        wire: Wire | None = None,
    ) -> AsyncIterator[LookupClient]:
        """A client for the indexes of a definitions file, in a storage account; raises `DefinitionsError`.

        `placed` has the accounts that placements name.
        """
        found = read_definitions(Path(definitions)).require()
        async with AsyncExitStack() as opened:

            async def tables(account: str | Account) -> TableClient:
                described = Account.from_connection_string(account) if isinstance(account, str) else account
                return await opened.enter_async_context(TableClient(described, timing, wire=wire))

            others = {name: Replicas(await tables(account)) for name, account in (placed or {}).items()}
            main = await tables(storage)
            lookups = new_lookups(
                found,
                [main],
                _token_key(storage),
                timing,
                _REFRESH_SECONDS,
                placed=others,
                facts=facts,
                now_seconds=main.clock.now_seconds,
            )
            yield cls(lookups)

    async def find(self, index: str, conditions: Mapping[str, Value]) -> LookupPage:
        """One page; look up its `next_parameters` for the page after it."""
        return await self._lookups.find(index, as_parameters(conditions))

    async def entries(self, index: str, conditions: Mapping[str, Value]) -> AsyncIterator[FoundEntry]:
        """Every entry, page by page."""
        parameters: dict[str, str] | None = as_parameters(conditions)
        while parameters is not None:
            page = await self._lookups.find(index, parameters)
            for entry in page.entries:
                yield entry
            parameters = page.next_parameters

    async def explain(self, index: str, conditions: Mapping[str, Value]) -> ExplanationJson:
        """How that lookup would run."""
        return await self._lookups.explain(index, as_parameters(conditions))


def _token_key(storage: str | Account) -> bytes:
    """Page tokens are opened by this process, and by others that hold the same secret, if there is one."""
    secret = storage if isinstance(storage, str) else storage.key
    return secrets.token_bytes() if secret is None else sha256(secret.encode()).digest()
