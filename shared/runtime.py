"""What the functions share in one process: definitions and clients made from the settings, when first needed."""

from __future__ import annotations

import asyncio
import random  # noqa: TID251 - the process's own chance, for the jitter of retries
import time
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shared import settings
from shared.definition_files import read_for_start
from shared.errors import StorageUnreachableError
from shared.facts.cosmos import CosmosFacts
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.replicas import Replicas
from shared.lookup.sees import OwnWrites
from shared.lookup.tokens import Tokens
from shared.tables.account import Account
from shared.tables.client import TableClient
from shared.tables.retry import RetryPolicy, Timing
from shared.web.lookup_api import LookupApi

if TYPE_CHECKING:
    from azure.cosmos.aio import CosmosClient

    from shared.definitions.load import Loaded
    from shared.lookup.generations import Generations
    from shared.lookup.sees import LedgerView

# A probe answers before the platform that asks gives up on it.
STORAGE_PROBE_SECONDS = 3.0
# A caller is waiting: better a 503 soon than an answer that nobody waits for any more.
_LOOKUP_RETRIES: Final = RetryPolicy(attempts=3, budget_seconds=8, first_wait_seconds=0.1, longest_wait_seconds=1)
_ROOT: Final = Path(__file__).parent.parent


@lru_cache(maxsize=1)
def definitions() -> Loaded:
    """The definitions that this app serves, with the faults that keep it from doing so."""
    return read_for_start(_ROOT / settings.value(settings.INDEX_DEFINITIONS))


@lru_cache(maxsize=1)
def generations() -> Generations:
    """Which generation serves each index; raises `DefinitionsError`."""
    return DefinedGenerations(definitions().require())


def own_writes(ledger: LedgerView) -> OwnWrites:
    """Waits on this ledger for changes that callers have seen, as long as the settings say."""
    return OwnWrites(ledger, settings.seconds(settings.SEES_SECONDS), time.monotonic, asyncio.sleep)


@lru_cache(maxsize=1)
def lookups() -> Lookups:
    """Lookups in the index storage; raises `DefinitionsError` or `SettingError`."""
    account = _index_account()
    timing = Timing(time.time, time.monotonic, asyncio.sleep, random.random)  # noqa: TID251 - the process's own clock
    secondary = None
    if settings.switch(settings.READ_SECONDARY):
        secondary = TableClient(account.secondary(), timing, policy=_LOOKUP_RETRIES)
    return Lookups(
        generations(),
        Replicas(TableClient(account, timing, policy=_LOOKUP_RETRIES), secondary),
        Tokens(_page_token_key(account)),
        facts=CosmosFacts(_cosmos_client),
    )


@lru_cache(maxsize=1)
def lookup_api() -> LookupApi:
    """The HTTP API of lookups; raises as `lookups` does."""
    return LookupApi(definitions().require(), generations(), lookups())


def _index_account() -> Account:
    connection = settings.storage_connection(settings.INDEX_STORAGE.name)
    if connection.connection_string:
        return Account.from_connection_string(connection.connection_string)
    from shared.tables.entra import EntraCredential

    credential = EntraCredential.managed_identity(connection.client_id)
    return Account.with_credential(str(connection.table_endpoint), credential)


def _page_token_key(account: Account) -> bytes:
    """The setting, else the account's key, else its address: all instances of the app agree on each of them."""
    secret = settings.value(settings.PAGE_TOKEN_KEY) or account.key or account.endpoint
    return sha256(f"page tokens\0{secret}".encode()).digest()


def _cosmos_client() -> CosmosClient:
    from azure.cosmos.aio import CosmosClient

    connection = settings.cosmos_connection(settings.COSMOS.name)
    if connection.connection_string:
        return CosmosClient.from_connection_string(connection.connection_string)
    from azure.identity.aio import ManagedIdentityCredential

    return CosmosClient(str(connection.endpoint), credential=ManagedIdentityCredential(client_id=connection.client_id))


async def check_storage() -> None:
    """Raise `StorageUnreachableError` unless the index storage answers."""
    from azure.core.exceptions import AzureError

    connection = settings.storage_connection(settings.INDEX_STORAGE.name)
    try:
        async with asyncio.timeout(STORAGE_PROBE_SECONDS):
            await _read_one_table_name(connection)
    except TimeoutError:
        raise StorageUnreachableError(
            f"The connection {settings.INDEX_STORAGE.name} did not answer within {STORAGE_PROBE_SECONDS:g} s; "
            "check that the storage account is up and reachable from here."
        ) from None
    except (AzureError, ValueError) as error:
        raise StorageUnreachableError(
            f"The connection {settings.INDEX_STORAGE.name} does not work ({error}); check the account, the network "
            "and the identity's roles."
        ) from error


async def _read_one_table_name(connection: settings.StorageConnection) -> None:
    from azure.data.tables.aio import TableServiceClient

    if connection.connection_string:
        service = TableServiceClient.from_connection_string(connection.connection_string, retry_total=0)
    else:
        from azure.identity.aio import ManagedIdentityCredential

        service = TableServiceClient(
            endpoint=str(connection.table_endpoint),
            credential=ManagedIdentityCredential(client_id=connection.client_id),
            retry_total=0,
        )
    async with service:
        async for _ in service.list_tables(results_per_page=1):
            return
