"""Lookups for an application's own process: the same planner and reader, with Python values and without HTTP.

    async with LookupClient.connect("indexes.yaml", connection_string) as client:
        page = await client.find("customers-by-town", {"town": "Redmond", "lastName.ge": "S"})
        async for entry in client.entries("movies-by-actor", {"actor.in": ["Tom Hanks", "Meg Ryan"]}):
            ...

It needs read access to the index tables and, for `sees`, to the ledger; and to the list of tables for an index with
tables per period. An account is named by its connection string or, where keys are off as in what the templates make,
described with a credential:

    account = Account.with_credential(table_endpoint, EntraCredential(DefaultAzureCredential()))

`expand=fact` needs the connection string of Cosmos DB, or a function that makes a client. `sync_client` has the same
for code without an event loop.
"""

from __future__ import annotations

import secrets
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from shared.catalog.catalog import Catalog
from shared.catalog.plans import source_plans
from shared.definitions.files import read_definitions
from shared.definitions.instants import normalise
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.lookup.asking.conditions import as_parameters
from shared.lookup.batch import answer_batch
from shared.lookup.count import count_entries
from shared.lookup.lookups import LookupPage, new_lookups
from shared.lookup.read_your_writes import WriteWaiter, sees_value
from shared.lookup.reading.replicas import Replicas
from shared.pipeline.ledger.view import LedgerView
from shared.sources.cosmos_facts import CosmosFacts
from shared.tables.accounts import Accounts
from shared.tables.client import TableClient
from shared.tables.machine import TIMING
from shared.tables.wire.account import Account

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from azure.cosmos.aio import CosmosClient

    from shared.definitions.model import Definitions
    from shared.entries.changes.seen_version import SeenVersion
    from shared.entries.projection.generations import SourcePlan
    from shared.lookup.asking.conditions import Value
    from shared.lookup.asking.explain import ExplanationJson
    from shared.lookup.batch import Outcome
    from shared.lookup.count import EntryCount
    from shared.lookup.generations import ReadableGeneration
    from shared.lookup.lookups import Lookups
    from shared.lookup.reading.results import FoundEntry
    from shared.sources.ports import Facts
    from shared.tables.retry import Timing
    from shared.tables.wire.transport import Wire

# No longer than the app itself, so that both use a new generation from the same moment on.
_REFRESH_SECONDS: Final = 30.0
SEES_SECONDS: Final = 5.0
NewCosmosClient: TypeAlias = "Callable[[], CosmosClient]"

__all__ = ["LookupClient", "sees_value"]


class LookupClient:
    """Looks up entries with Python values: None asks for nulls, a datetime without zone is UTC.

    Key values that are times come back as datetimes, to the microsecond.
    """

    def __init__(self, lookups: Lookups) -> None:
        self._lookups = lookups

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        definitions: str | Path,
        storage: str | Account,
        timing: Timing = TIMING,
        facts: Facts | None = None,
        placed: Mapping[str, str | Account] | None = None,
        wire: Wire | None = None,
        *,
        cosmos: str | NewCosmosClient | None = None,
        sees_seconds: float = SEES_SECONDS,
    ) -> AsyncIterator[LookupClient]:
        """A client for the indexes of a definitions file, in a storage account; raises `DefinitionsError`.

        `placed` has the accounts that placements name; `sees_seconds` is how long a lookup waits for its change.
        """
        found = read_definitions(Path(definitions)).require()
        async with AsyncExitStack() as opened:

            async def tables(account: str | Account) -> TableClient:
                described = Account.from_connection_string(account) if isinstance(account, str) else account
                return await opened.enter_async_context(TableClient(described, timing, wire=wire))

            others = {name: await tables(account) for name, account in (placed or {}).items()}
            main = await tables(storage)
            if facts is None and cosmos is not None:
                facts = cosmos_facts = CosmosFacts(_connecting(cosmos))
                opened.push_async_callback(cosmos_facts.close)
            accounts = Accounts({DEFAULT_ACCOUNT: main, **others})
            ledger = _Ledger(found, accounts, main.clock.now_seconds, timing.steady_seconds)
            lookups = new_lookups(
                found,
                [main],
                _token_key(storage),
                timing,
                _REFRESH_SECONDS,
                placed={name: Replicas(client) for name, client in others.items()},
                facts=facts,
                own_writes=WriteWaiter(ledger, sees_seconds, timing.steady_seconds, timing.sleep),
                now_seconds=main.clock.now_seconds,
            )
            yield cls(lookups)

    async def find(self, index: str, conditions: Mapping[str, Value]) -> LookupPage:
        """One page; look up its `next_parameters` for the page after it."""
        return await self._with_times(index, await self._lookups.find(index, as_parameters(conditions)))

    async def find_many(
        self, index: str, lookups: Sequence[Mapping[str, Value]], options: Mapping[str, Value] | None = None
    ) -> list[Outcome]:
        """The first page of each of up to 100 lookups, or the error that it has instead, in the order asked."""
        asked = [as_parameters(each) for each in lookups]
        found = await answer_batch(self._lookups, index, asked, as_parameters(options or {}))
        return [await self._with_times(index, each) if isinstance(each, LookupPage) else each for each in found]

    async def entries(self, index: str, conditions: Mapping[str, Value]) -> AsyncIterator[FoundEntry]:
        """Every entry, page by page."""
        parameters: Mapping[str, Value] | None = conditions
        while parameters is not None:
            page = await self.find(index, parameters)
            for entry in page.entries:
                yield entry
            parameters = page.next_parameters

    async def count(self, index: str, conditions: Mapping[str, Value]) -> EntryCount:
        """How many entries there are, up to 100 000 rows."""
        return await count_entries(self._lookups, index, as_parameters(conditions))

    async def explain(self, index: str, conditions: Mapping[str, Value]) -> ExplanationJson:
        """How that lookup would run."""
        return await self._lookups.explain(index, as_parameters(conditions))

    async def _with_times(self, index: str, page: LookupPage) -> LookupPage:
        """The page with times as datetimes."""
        parts = (await self._lookups.generations.serving(index)).index.parts
        names = [part.name for part in parts if part.type == "datetime"]
        for entry in page.entries if names else ():
            entry["key"] |= {name: _as_time(entry["key"].get(name)) for name in names}
        return page


def _as_time(value: object) -> object:
    """A time as a datetime; as it is where it is none that Python has, such as one after the year 9999."""
    instant = normalise(value) if isinstance(value, str) else None
    try:
        return value if instant is None else datetime.fromisoformat(instant)
    except ValueError:
        return value


@dataclass(slots=True)
class _Ledger:
    """The ledger of the account, by what its catalog says now and then."""

    definitions: Definitions
    accounts: Accounts
    now_seconds: Callable[[], float]
    steady_seconds: Callable[[], float]
    _plans: Mapping[str, SourcePlan] = field(init=False, default_factory=dict)
    _read_at_seconds: float | None = field(init=False, default=None)

    async def has_applied(self, seen: SeenVersion, generation: ReadableGeneration) -> bool:
        """Whether this generation has that change or a newer one, and its rows are written."""
        view = LedgerView(self._current, self.accounts, self.now_seconds)
        return await view.has_applied(generation.source.name, generation.id, seen)

    async def _current(self) -> Mapping[str, SourcePlan]:
        now_seconds = self.steady_seconds()
        if self._read_at_seconds is None or now_seconds - self._read_at_seconds > _REFRESH_SECONDS:
            self._plans = source_plans(await Catalog(self.accounts.main).read(), self.definitions)
            self._read_at_seconds = now_seconds
        return self._plans


def _connecting(cosmos: str | NewCosmosClient) -> NewCosmosClient:
    if not isinstance(cosmos, str):
        return cosmos

    def connect() -> CosmosClient:
        from azure.cosmos.aio import CosmosClient  # slow to import, and rarely needed

        return CosmosClient.from_connection_string(cosmos)

    return connect


def _token_key(storage: str | Account) -> bytes:
    """Page tokens are opened by this process, and by others that hold the same secret, if there is one."""
    secret = storage if isinstance(storage, str) else storage.key
    return secrets.token_bytes() if secret is None else sha256(secret.encode()).digest()
