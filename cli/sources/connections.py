"""The source that a command works on, and connections to its services: of a local run, or from the settings."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cli.arguments import exclusive, flag
from cli.definitions import definitions_file, definitions_option
from cli.errors import UsageError
from cli.local_run import data_option, local_run
from shared.app import connection_settings, settings
from shared.app.app import app
from shared.app.connection_settings import CosmosConnection, EventHubsConnection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from azure.cosmos.aio import CosmosClient

    from cli.arguments import Arguments, Option
    from shared.definitions.model import Definitions, Source

T = TypeVar("T")

AZURE_HELP: Final = (
    "the services that the settings COSMOS and EVENTHUB connect to or, with your sign-in of az or azd, "
    "COSMOS__accountEndpoint and EVENTHUB__fullyQualifiedNamespace"
)


def source_options() -> tuple[Option, ...]:
    """`--definitions`, and where its sources are: `--data` or `--azure`."""
    return (definitions_option(), *exclusive(data_option(), flag("--azure", AZURE_HELP)))


def named_source(args: Arguments, definitions: Definitions) -> Source:
    """The source that the arguments name."""
    if args.source not in definitions.sources:
        choices = ", ".join(definitions.sources)
        raise UsageError(f"there is no source {args.source} in {definitions_file(args)}: choose one of {choices}")
    return definitions.sources[args.source]


def cosmos_connection(args: Arguments) -> CosmosConnection:
    """The connection to the Cosmos DB account."""
    if args.azure:
        return connection_settings.cosmos_connection(settings.COSMOS.name, app().settings.environment)
    return CosmosConnection(local_run(args.data).cosmos_connection_string())


def event_hubs_connection(args: Arguments) -> EventHubsConnection:
    """The connection to the Event Hubs namespace."""
    if args.azure:
        return connection_settings.event_hubs_connection(settings.EVENTHUB.name, app().settings.environment)
    return EventHubsConnection(local_run(args.data).text("eventHubs", "connectionString"))


@asynccontextmanager
async def cosmos_account(connection: CosmosConnection) -> AsyncIterator[CosmosClient]:
    """A client of the account, closed at the end."""
    client = app().connections.cosmos_client(connection)
    try:
        async with client:
            yield client
    finally:
        # Entering the client calls the account. If that fails, the SDK leaves its connections open.
        await client.close()


def reason_of(error: Exception) -> str:
    """Why a service could not be called, in one line."""
    from azure.core.exceptions import ClientAuthenticationError

    if isinstance(error, ClientAuthenticationError):
        return 'Nobody is signed in to Azure here: use "az login" or "azd auth login".'
    return str(error).partition("\n")[0]


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run work that calls services, then close the credentials that it used."""
    # It logs every way to sign in that failed. The error that follows says it in one line.
    logging.getLogger("azure.identity").setLevel(logging.CRITICAL)
    return asyncio.run(_closing_identities(work))


async def _closing_identities(work: Coroutine[Any, Any, T]) -> T:
    try:
        return await work
    finally:
        await app().connections.close_identities()
