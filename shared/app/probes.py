"""Whether an app can do its work: checked when it starts, and by the readiness probe."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from shared.app.connection_settings import index_account, storage_connection
from shared.app.timing_checks import check_timing
from shared.errors import IndexTablesError, SettingError, StorageUnreachableError

if TYPE_CHECKING:
    from shared.app.app import App

# A probe answers before the platform stops waiting for it.
STORAGE_PROBE_SECONDS: Final = 3.0

_log = logging.getLogger(__name__)


def may_write(app: App) -> bool:
    """Whether triggers may run. If not, the health call says why; the log also does for settings."""
    try:
        check_timing(app.root, app.settings)
        app.settings.check_all()
        index_account(app.settings.environment)
    except SettingError as error:
        _log.error("No triggers are registered: %s", error)
        return False
    return not app.definitions.faults


async def check(app: App) -> None:
    """Raise the error that keeps the app from its work: faults in definitions or settings, storage that does not
    answer, a source whose identity has changed."""
    app.definitions.require()
    _check_settings(app)
    await _check_storage(app)
    await _check_catalog(app)


def _check_settings(app: App) -> None:
    """Raise `SettingError` when a setting is wrong, or when one is missing that batches or lookups need."""
    check_timing(app.root, app.settings)
    app.settings.check_all()
    app.page_token_key()


async def _check_storage(app: App) -> None:
    """Raise `StorageUnreachableError` unless every storage account that holds tables answers."""
    await asyncio.gather(*[_check_account(app, name) for name in app.account_names()])


async def _check_catalog(app: App) -> None:
    """Raise `DefinitionsError` when the identity of a source has changed since its indexes were made."""
    from shared.catalog.catalog import Catalog
    from shared.catalog.register import check_sources
    from shared.errors import TableMissingError

    try:
        snapshot = await Catalog(app.lookup.catalog_readers[0]).read()
    except TableMissingError:
        return  # no worker has started yet
    check_sources(snapshot, app.definitions.require())


async def _check_account(app: App, name: str) -> None:
    from shared.tables.availability import probe
    from shared.tables.breaker import Breaker
    from shared.tables.retry import RetryPolicy

    try:
        connection = storage_connection(name, app.settings.environment)
        async with (
            asyncio.timeout(STORAGE_PROBE_SECONDS),
            # Its own breaker: a probe calls storage even while the app's breaker is open.
            app.connections.table_client(connection, policy=RetryPolicy(attempts=1), breaker=Breaker()) as client,
        ):
            await probe(client)
    except TimeoutError:
        raise StorageUnreachableError(
            f"The connection {name} did not answer within {STORAGE_PROBE_SECONDS:g} s; "
            "check that the storage account is up and reachable from here."
        ) from None
    except IndexTablesError as error:
        raise StorageUnreachableError(f"The connection {name} does not work: {error}") from error
