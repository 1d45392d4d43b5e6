"""The parts of lookups: which generation serves, reading, and the HTTP API."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from shared.app import settings as names

if TYPE_CHECKING:
    from shared.app.monitoring_parts import MonitoringParts
    from shared.app.process import Process
    from shared.lookup.lookups import Lookups
    from shared.lookup.read_your_writes import AppliedChanges
    from shared.tables.client import TableClient
    from shared.web.access import Rights
    from shared.web.api.lookups import LookupApi


class LookupParts:
    """Everything that a lookup needs, each made once. `ledger` says whether a change has been applied."""

    def __init__(self, process: Process, monitoring: MonitoringParts, ledger: AppliedChanges) -> None:
        self._process = process
        self._monitoring = monitoring
        self._ledger = ledger

    @cached_property
    def catalog_readers(self) -> list[TableClient]:
        """The endpoints that the catalog is read from."""
        return self._readers(names.INDEX_STORAGE.name)

    def _readers(self, name: str) -> list[TableClient]:
        """The endpoints of a storage account for lookups: the primary and, with READ_SECONDARY, the secondary."""
        from shared.app.connections import FOR_CALLERS
        from shared.tables.limiter.calls import Priority

        account = self._process.connections.account_of(self._process.storage(name))
        accounts = [account, account.secondary()] if self._process.settings.value(names.READ_SECONDARY) else [account]
        counts = self._monitoring.new_counts("lookups", name)
        open_client = self._process.connections.table_client_of
        return [open_client(account, counts, FOR_CALLERS, priority=Priority.CALLER) for account in accounts]

    @cached_property
    def lookups(self) -> Lookups:
        """Lookups in the index storage; raises `DefinitionsError` or `SettingError`."""
        from shared.app.connections import OpenedByName
        from shared.lookup.lookups import new_lookups
        from shared.lookup.read_your_writes import WriteWaiter
        from shared.lookup.reading.replicas import Replicas
        from shared.sources.cosmos_facts import CosmosFacts

        process, settings = self._process, self._process.settings
        timing, wait_seconds = process.world.timing, settings.value(names.SEES_SECONDS)
        return new_lookups(
            process.definitions.require(),
            self.catalog_readers,
            process.page_token_key(),
            timing,
            settings.value(names.CATALOG_REFRESH_SECONDS),
            reports_progress=True,
            placed=OpenedByName(lambda name: Replicas(*self._readers(name))),
            facts=CosmosFacts(process.cosmos),
            own_writes=WriteWaiter(self._ledger, wait_seconds, timing.steady_seconds, timing.sleep),
            now_seconds=process.world.clock.now_seconds,
            answered=self._monitoring.counters.counters.lookup_answered,
        )

    async def connect(self) -> None:
        """Read the catalog before anybody asks, so that the first lookup finds it, and an open connection. What goes
        wrong is told to lookups."""
        from shared.errors import IndexTablesError

        with suppress(IndexTablesError):
            for index in self._process.definitions.require().indexes:
                await self.lookups.generations.serving(index)
                return

    def api(self, rights: Rights) -> LookupApi:
        """The HTTP API of lookups for a caller with these rights; raises as `lookups` does."""
        from shared.web.api.lookups import LookupApi

        return LookupApi(self._process.definitions.require(), self.lookups.generations, self.lookups, rights)
