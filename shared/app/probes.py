"""Whether an app can do its work: checked when it starts, and by the readiness probe."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from shared.app.connection_settings import index_account, storage_connection
from shared.app.settings import INDEX_STORAGE
from shared.app.timing_checks import check_timing
from shared.errors import IndexTablesError, SettingError, StorageUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.app.process import Process
    from shared.catalog.rows import CatalogSnapshot
    from shared.tables.client import TableClient

# A probe answers before the platform stops waiting for it.
STORAGE_PROBE_SECONDS: Final = 3.0
# How long an answer is good for: callers without a key must not make the app ask storage.
KEPT_SECONDS: Final = 3.0

_log = logging.getLogger(__name__)


def may_write(app: Process) -> bool:
    """Whether triggers may run. If not, the health call says why; the log also does for settings."""
    try:
        check_timing(app.root, app.settings)
        app.settings.check_all()
        index_account(app.settings.environment)
    except SettingError as error:
        _log.error("No triggers are registered: %s", error)
        return False
    return not app.definitions.faults


class Readiness:
    """Whether an app can do its work, asked anew after some seconds: anybody may ask, as often as they like."""

    def __init__(self, app: Process, catalog_reader: Callable[[], TableClient]) -> None:
        self._app = app
        self._catalog_reader = catalog_reader
        self._asking = asyncio.Lock()
        self._asked_at: float | None = None
        self._limits: list[str] = []
        self._error: IndexTablesError | None = None

    async def check(self) -> list[str]:
        """What `check` said a moment ago, or says now; raises what it raised."""
        async with self._asking:
            now = self._app.world.timing.steady_seconds()
            if self._asked_at is None or now - self._asked_at >= KEPT_SECONDS:
                await self._ask()
                self._asked_at = self._app.world.timing.steady_seconds()
        if self._error is not None:
            raise self._error
        return self._limits

    async def _ask(self) -> None:
        try:
            self._limits, self._error = await check(self._app, self._catalog_reader), None
        except IndexTablesError as error:
            self._limits, self._error = [], error


async def check(app: Process, catalog_reader: Callable[[], TableClient]) -> list[str]:
    """Raise the error that keeps the app from its work: faults in definitions or settings, a main account that does not
    answer, a source whose identity has changed. Return what limits it: other accounts that do not answer or are owed
    entries, and sources whose changes have no order."""
    app.definitions.require()
    _check_settings(app)
    silent = await _check_storage(app)
    snapshot = await _check_catalog(app, catalog_reader())
    return [*silent, *_owed(snapshot), *without_order(app)]


def _check_settings(app: Process) -> None:
    """Raise `SettingError` when a setting is wrong, or when one is missing that batches or lookups need."""
    check_timing(app.root, app.settings)
    app.settings.check_all()
    app.page_token_key()


async def _check_storage(app: Process) -> list[str]:
    """Raise `StorageUnreachableError` unless the main account answers; what is wrong with the others. One that is not
    set raises, too."""
    names = app.account_names()
    results = await asyncio.gather(*[_check_account(app, name) for name in names], return_exceptions=True)
    limits = []
    for name, result in zip(names, results, strict=True):
        if name != INDEX_STORAGE.name and _is_outage(result):
            limits.append(str(result))
        elif isinstance(result, BaseException):
            raise result
    return limits


def _is_outage(result: BaseException | None) -> bool:
    """Whether an account does not answer, or not to this app, so that the others go on without it."""
    return isinstance(result, StorageUnreachableError) and not isinstance(result.__cause__, SettingError)


def _owed(snapshot: CatalogSnapshot) -> list[str]:
    from shared.definitions.instants import instant_text

    return [
        f"Since {instant_text(owed.since_seconds)}, entries wait for storage account {name}: "
        f"{owed.facts}{' or more' if owed.has_more else ''} facts, "
        f"in these indexes: {', '.join(snapshot.indexes_owing(name)) or 'none'}."
        for name, owed in sorted(snapshot.owed.items())
    ]


def without_order(app: Process) -> list[str]:
    """Sources whose versions Cosmos DB orders, if their account takes writes in several regions."""
    sources = app.definitions.require().sources.items()
    names = sorted(name for name, source in sources if source.cosmos is not None and source.version is None)
    regions = app.write_regions.last_known() if names else ()
    if len(regions) < 2:
        return []
    where = f"Cosmos DB takes writes in several regions ({', '.join(regions)})"
    way_out = 'declare a "version" in these sources, or write each partition key in one region'
    return [f"{where}, so that nobody knows the order of two versions of a fact: {way_out}: {', '.join(names)}."]


async def _check_catalog(app: Process, reader: TableClient) -> CatalogSnapshot:
    """The catalog; raise `DefinitionsError` when the identity of a source has changed since its indexes were made."""
    from shared.catalog.catalog import Catalog
    from shared.catalog.register import check_sources
    from shared.catalog.rows import CatalogSnapshot
    from shared.errors import TableMissingError

    try:
        snapshot = await Catalog(reader).read()
    except TableMissingError:
        return CatalogSnapshot()  # no worker has started yet
    check_sources(snapshot, app.definitions.require())
    return snapshot


async def _check_account(app: Process, name: str) -> None:
    from shared.tables.availability import probe
    from shared.tables.breaker import Breaker
    from shared.tables.limiter.calls import Priority
    from shared.tables.retry import RetryPolicy

    policy = RetryPolicy(attempts=1, waits_out_throttles=False)
    try:
        connection = storage_connection(name, app.settings.environment)
        async with (
            asyncio.timeout(STORAGE_PROBE_SECONDS),
            # Its own breaker: a probe calls storage even while the app's breaker is open.
            app.connections.table_client(
                connection, policy=policy, breaker=Breaker(), priority=Priority.CALLER
            ) as client,
        ):
            await probe(client)
    except TimeoutError:
        raise StorageUnreachableError(
            f"The connection {name} did not answer within {STORAGE_PROBE_SECONDS:g} s; "
            "check that the storage account is up and reachable from here."
        ) from None
    except IndexTablesError as error:
        raise StorageUnreachableError(f"The connection {name} does not work: {error}") from error
