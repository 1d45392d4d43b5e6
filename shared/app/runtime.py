"""What the functions share in one process: definitions, clients and the worker, made when they are first needed."""

from __future__ import annotations

import asyncio
import logging
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shared.app import observing, settings
from shared.app.gc_tuning import tune_garbage_collection
from shared.definitions.files import read_for_start
from shared.entries.keys.placement import AccountMap
from shared.errors import IndexTablesError, SettingError, StorageUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shared.definitions.loading.load import Loaded
    from shared.definitions.model import Definitions
    from shared.entries.changes.seen_version import SeenVersion
    from shared.lookup.generations import ReadableGeneration as LookupGeneration
    from shared.lookup.lookups import Lookups
    from shared.pipeline.apply.worker import Services, Worker
    from shared.tables.breaker import Breaker
    from shared.tables.client import TableClient
    from shared.tables.counts import Counts
    from shared.tables.retry import RetryPolicy
    from shared.web.api.dead_letters import DeadLetterApi
    from shared.web.api.lookups import LookupApi

_log = logging.getLogger(__name__)

# A probe answers before the platform that asks gives up on it.
STORAGE_PROBE_SECONDS: Final = 3.0
# How long a function waits for storage before it raises: well within functionTimeout, with room for the batch itself.
OUTAGE_WAIT_SECONDS: Final = 300.0
_ROOT: Final = Path(__file__).parents[2]
SECONDS_PER_DAY: Final = 86_400


@lru_cache(maxsize=1)
def definitions() -> Loaded:
    """The definitions that this app serves, with the faults that keep it from doing so."""
    return read_for_start(_ROOT / settings.value(settings.INDEX_DEFINITIONS))


def check_clocks() -> None:
    """Raise `SettingError` when this app may not write: its functions may outlive the sweep."""
    from shared.app import timing_checks

    timing_checks.check_timing(_ROOT)


def check_settings() -> None:
    """Raise `SettingError` when a setting is wrong, or is missing that batches or lookups need."""
    check_clocks()
    settings.check_all()
    _page_token_key()


def may_write() -> bool:
    """Whether triggers may run. If not, health says why, and for settings the log does, too."""
    try:
        check_clocks()
        settings.check_all()
        settings.index_account()
    except SettingError as error:
        _log.error("No triggers are registered: %s", error)
        return False
    return not definitions().faults


async def check_storage() -> None:
    """Raise `StorageUnreachableError` unless every storage account that holds tables answers."""
    await asyncio.gather(*map(_check_account, sorted(_account_names(definitions().definitions))))


async def check_catalog() -> None:
    """Raise `DefinitionsError` when a source is not what its indexes have been kept from."""
    from shared.catalog.catalog import Catalog
    from shared.catalog.register import check_sources
    from shared.errors import TableMissingError

    try:
        snapshot = await Catalog(_catalog_readers()[0]).read()
    except TableMissingError:
        return  # no worker has started yet
    check_sources(snapshot, definitions().require())


async def _check_account(name: str) -> None:
    from shared.app.connections import table_client
    from shared.tables.breaker import Breaker
    from shared.tables.outage import probe
    from shared.tables.retry import RetryPolicy

    try:
        connection = settings.storage_connection(name)
        async with (
            asyncio.timeout(STORAGE_PROBE_SECONDS),
            # A breaker of its own: whoever asks whether storage answers wants storage to be asked.
            table_client(connection, policy=RetryPolicy(attempts=1), breaker=Breaker()) as client,
        ):
            await probe(client)
    except TimeoutError:
        raise StorageUnreachableError(
            f"The connection {name} did not answer within {STORAGE_PROBE_SECONDS:g} s; "
            "check that the storage account is up and reachable from here."
        ) from None
    except IndexTablesError as error:
        raise StorageUnreachableError(f"The connection {name} does not work: {error}") from error


# ---------------------------------------------------------------------------------------------------- lookups


@lru_cache(maxsize=1)
def _catalog_readers() -> list[TableClient]:
    return _readers(settings.INDEX_STORAGE.name)


def _readers(name: str) -> list[TableClient]:
    """A storage account as lookups read it: its primary endpoint and, if the app wants it, its secondary."""
    from shared.app.connections import CLOCK, FOR_CALLERS, TIMING, account_of, breaker_of
    from shared.tables.client import TableClient

    account = account_of(settings.storage_connection(name))
    accounts = [account, account.secondary()] if settings.switch(settings.READ_SECONDARY) else [account]
    counts = observing.new_counts("lookups", name)
    return [
        TableClient(each, TIMING, policy=FOR_CALLERS, breaker=breaker_of(each.endpoint), counts=counts, clock=CLOCK)
        for each in accounts
    ]


@lru_cache(maxsize=1)
def lookups() -> Lookups:
    """Lookups in the index storage; raises `DefinitionsError` or `SettingError`."""
    from shared.app.connections import CLOCK, TIMING, OpenedByName, cosmos_client
    from shared.lookup.lookups import new_lookups
    from shared.lookup.read_your_writes import WriteWaiter
    from shared.lookup.replicas import Replicas
    from shared.sources.cosmos_facts import CosmosFacts

    return new_lookups(
        definitions().require(),
        _catalog_readers(),
        _page_token_key(),
        TIMING,
        settings.seconds(settings.CATALOG_REFRESH_SECONDS),
        reports_progress=True,
        placed=OpenedByName(lambda name: Replicas(*_readers(name))),
        facts=CosmosFacts(lambda: cosmos_client(settings.cosmos_connection(settings.COSMOS.name))),
        own_writes=WriteWaiter(_Ledger(), settings.seconds(settings.SEES_SECONDS), TIMING.steady_seconds, TIMING.sleep),
        now_seconds=CLOCK.now_seconds,
        answered=observing.lookup_answered,
    )


class _Ledger:
    """The pipeline's ledger, as lookups ask it."""

    async def has_applied(self, seen: SeenVersion, generation: LookupGeneration) -> bool:
        """Whether this generation's part has that change or a newer one, and its rows are written."""
        return await (await worker_for_callers()).has_applied(generation.source.name, generation.id, seen)


@lru_cache(maxsize=1)
def lookup_api() -> LookupApi:
    """The HTTP API of lookups; raises as `lookups` does."""
    from shared.web.api.lookups import LookupApi

    return LookupApi(definitions().require(), lookups().generations, lookups())


async def dead_letter_api() -> DeadLetterApi:
    """The HTTP API of dead letters; raises as `worker_for_callers` does."""
    from shared.inputs.page_tokens import PageTokens
    from shared.web.api.dead_letters import DeadLetterApi

    desk = (await worker_for_callers()).dead_letters
    return DeadLetterApi(desk, PageTokens(_page_token_key()))


def _page_token_key() -> bytes:
    """The setting, else the account's key: both are secret, and all instances of the app agree on them."""
    from shared.app.connections import account_of

    account = account_of(settings.storage_connection(settings.INDEX_STORAGE.name))
    secret = settings.value(settings.PAGE_TOKEN_KEY) or account.key
    if not secret:
        raise settings.missing(settings.PAGE_TOKEN_KEY)
    return sha256(f"page tokens\0{secret}".encode()).digest()


# ---------------------------------------------------------------------------------------------------- the worker


class _Shared:
    """A worker of this process. Its tables are made before its first use."""

    def __init__(self, policy: Callable[[], RetryPolicy | None]) -> None:
        self._policy = policy
        self._worker: Worker | None = None
        self._making = asyncio.Lock()

    async def get(self) -> Worker:
        """The same one each time; raises `DefinitionsError` or `SettingError`."""
        async with self._making:
            if self._worker is None:
                made = new_worker(definitions().require(), self._policy())
                await made.prepare()
                self._worker = made
        return self._worker


def _for_callers() -> RetryPolicy:
    from shared.app.connections import FOR_CALLERS

    return FOR_CALLERS


_of_triggers, _of_callers = _Shared(lambda: None), _Shared(_for_callers)


async def worker() -> Worker:
    """The worker of this process' triggers, which are patient: its cache serves every batch."""
    return await _of_triggers.get()


async def worker_for_callers() -> Worker:
    """The one of HTTP calls: it gives up on storage before a caller gives up on it."""
    return await _of_callers.get()


async def worker_when_storage_answers() -> Worker:
    """The worker for a batch. During an outage a function waits here, before it begins."""
    await _storage_answers()
    return await worker()


async def _storage_answers() -> None:
    served = definitions().require()
    for name, breaker in breakers(served).items():
        if not breaker.is_closed:
            from shared.app.connections import TIMING, table_client
            from shared.tables.outage import until_it_answers

            async with table_client(settings.storage_connection(name)) as client:
                await until_it_answers(client, OUTAGE_WAIT_SECONDS, TIMING.steady_seconds)


def new_worker(served: Definitions, policy: RetryPolicy | None = None) -> Worker:
    """A worker with clients of its own, which try again within this policy."""
    from shared.pipeline.apply.worker import Worker

    check_clocks()
    tune_garbage_collection()
    return Worker(served, _services(policy))


def _services(policy: RetryPolicy | None) -> Services:
    from shared.app.connections import CLOCK, OpenedByName, container_client, new_id, queue_client, table_client
    from shared.app.queues_and_blobs import BlobContainer, DelayedQueue
    from shared.pipeline.apply.worker import Services
    from shared.pipeline.concurrency import Bounded, Staggered
    from shared.tables.accounts import Accounts

    counted: list[Counts] = []

    def opened(name: str) -> TableClient:
        counted.append(observing.new_counts("changes", name))
        return table_client(settings.storage_connection(name), counted[-1], policy)

    index_storage = settings.storage_connection(settings.INDEX_STORAGE.name)
    sweep_queue = queue_client(settings.storage_connection(settings.HOST_STORAGE), settings.SWEEP_QUEUE)
    return Services(
        accounts=Accounts(OpenedByName(opened)),
        blobs=BlobContainer(container_client(index_storage, settings.DEAD_LETTER_CONTAINER), new_id),
        sweep_queue=DelayedQueue(sweep_queue, settings.number(settings.SWEEP_DELAY_SECONDS)),
        run_all=Bounded(),
        run_buckets=Staggered(),
        now_seconds=CLOCK.now_seconds,
        retention_seconds=settings.number(settings.LEDGER_RETENTION_DAYS) * SECONDS_PER_DAY,
        dead_letter_retention_seconds=settings.dead_letter_retention_days() * SECONDS_PER_DAY,
        take_transactions=lambda: sum(counts.take() for counts in counted),
        sweep_delay_seconds=settings.number(settings.SWEEP_DELAY_SECONDS),
        refresh_seconds=settings.seconds(settings.CATALOG_REFRESH_SECONDS),
        build_delay_seconds=settings.number(settings.BUILD_DELAY_SECONDS),
        report=observing.batch_applied,
        has_moved_on=observing.has_moved_on,
    )


def breakers(served: Definitions) -> dict[str, Breaker]:
    """The breaker of every account that holds tables, by the name of its connection."""
    from shared.app.connections import account_of, breaker_of

    names = sorted(_account_names(served))
    return {name: breaker_of(account_of(settings.storage_connection(name)).endpoint) for name in names}


def _account_names(served: Definitions) -> Iterable[str]:
    """The connections that hold tables: the default one, and those that indexes are placed on."""
    indexes = served.indexes.values()
    return {settings.INDEX_STORAGE.name, *(name for index in indexes for name in AccountMap(index).accounts)}
