"""What every batch writes to: the plan of each source from a recent read of the catalog, with all tables created."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.catalog.period_tables import create_near_tables
from shared.catalog.plans import source_plans
from shared.catalog.register import DefinitionRegistrar, check_sources
from shared.catalog.rows import CATALOG_TABLE
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.entries.projection.generations import plan_of
from shared.errors import SettingError, StorageUnavailableError, TableMissingError
from shared.pipeline.account_calls import can_wait
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.pipeline.ledger.rows import LEDGER_TABLE
from shared.pipeline.ledger.scan import has_rows
from shared.tasks.rows import TASK_TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from shared.catalog.catalog import Catalog
    from shared.catalog.rows import CatalogSnapshot
    from shared.definitions.model import Definitions
    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.pipeline.apply.services import Services

PIPELINE_TABLES: Final = frozenset(
    (DEFAULT_ACCOUNT, table) for table in (CATALOG_TABLE, LEDGER_TABLE, DEAD_LETTER_TABLE, TASK_TABLE)
)

_log = logging.getLogger(__name__)


def needed_tables(definitions: Definitions) -> set[tuple[str, str]]:
    """Account and name of every table: the pipeline's own, and those of every index in its first generation."""
    needed = set(PIPELINE_TABLES)
    for source in definitions.sources:
        needed |= {place for generation in plan_of(definitions, source).generations for place in generation.tables()}
    return needed


class WritePlans:
    """The plans of one process, read again when they are too old to start a batch with."""

    def __init__(self, definitions: Definitions, services: Services, catalog: Catalog) -> None:
        self._definitions = definitions
        self._services = services
        self._catalog = catalog
        self._plans: dict[str, SourcePlan] = {}
        self._read_at_seconds: float | None = None
        self._created: set[tuple[str, str]] = set()

    async def prepare(self) -> None:
        """Create the tables that are missing, register what is new in the definitions, and learn what to write to.

        A storage account without a connection raises `SettingError` before anything is written.
        """
        services = self._services
        services.accounts.require(self._definitions.indexes.values())
        await self._create(PIPELINE_TABLES)
        has_facts = partial(has_rows, services.accounts.main, services.run_all)
        registrar = DefinitionRegistrar(
            self._catalog, services.times.build_delay_seconds, has_facts, services.has_moved_on
        )
        now_seconds = services.now_seconds()
        await self._learn(await registrar.register(self._definitions, now_seconds), now_seconds)

    async def current(self) -> Mapping[str, SourcePlan]:
        """The plan of each source, recent enough to start a batch with."""
        now_seconds = self._services.now_seconds()
        read_at = self._read_at_seconds
        # After the clock went back, the age of the plans is not known.
        if read_at is None or not 0 <= now_seconds - read_at < self._services.times.refresh_seconds:
            await self._learn(await self._catalog.read(), now_seconds)
        return self._plans

    async def create_missing_tables(self, error: Exception) -> None:
        """If a batch failed because a table is gone, create the table: the batch succeeds when it comes back."""
        if isinstance(error, TableMissingError) or isinstance(error.__cause__, TableMissingError):
            self._created.clear()
            await self.prepare()

    async def _learn(self, snapshot: CatalogSnapshot, read_at_seconds: float) -> None:
        """Write to what this snapshot says from now on. Its age counts from the query, not from the answer."""
        check_sources(snapshot, self._definitions)
        plans = {name: self._within_reach(plan) for name, plan in source_plans(snapshot, self._definitions).items()}
        generations = [generation for plan in plans.values() for generation in plan.generations]
        await self._create({place for generation in generations for place in generation.tables()})
        for generation in generations:
            await self._create_near_tables(generation)
        self._plans = plans
        self._read_at_seconds = read_at_seconds

    async def _create_near_tables(self, generation: Generation) -> None:
        """Create the tables of the periods in which entries of now expire, unless this process has done so before. A
        worker that writes makes what is missing, so an account that does not answer now is no reason to stop."""
        missing = generation.near_tables(self._services.now_seconds()) - self._created
        tables: dict[str, set[str]] = {}
        for account, table in sorted(missing):
            tables.setdefault(account, set()).add(table)
        accounts = self._services.accounts
        work = [
            (account, partial(create_near_tables, accounts, account, generation, wanted))
            for account, wanted in tables.items()
        ]
        for account, result in zip(tables, await self._services.calls(tables)(work), strict=True):
            if isinstance(result, StorageUnavailableError):
                _not_made(account, result)
            elif isinstance(result, Exception):
                raise result
            else:
                self._created |= {(account, table) for table in tables[account]}

    def _within_reach(self, plan: SourcePlan) -> SourcePlan:
        """The plan without generations that cannot be reached: both their index and the connection of its account have
        left the app, and they wait to be retired. An index that is still defined must be reachable."""
        return replace(plan, generations=tuple(filter(self._is_within_reach, plan.generations)))

    def _is_within_reach(self, generation: Generation) -> bool:
        try:
            self._services.accounts.require([generation.index])
        except SettingError:
            if generation.index.name in self._definitions.indexes:
                raise
            _log.warning("A generation is out of reach", extra={"generation": generation.id})
            return False
        return True

    async def _create(self, places: AbstractSet[tuple[str, str]]) -> None:
        """Create tables, by account and name, unless this process has done so before. In an account that does not
        answer they are made later, by the first write that misses them."""
        accounts = self._services.accounts
        missing = sorted(places - self._created)
        calls = self._services.calls(account for account, _ in missing)
        results = await calls(
            [(account, partial(accounts.tables(account).create_table, table)) for account, table in missing]
        )
        for place, result in zip(missing, results, strict=True):
            if not isinstance(result, Exception):
                self._created.add(place)
            elif can_wait(place[0], result):
                _not_made(place[0], result)
            else:
                raise result


def _not_made(account: str, error: Exception) -> None:
    _log.warning("Tables are not made yet: %s", error, extra={"account": account})
