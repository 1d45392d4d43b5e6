"""The life of generations: build, switch, roll back, retire. A refusal changes nothing.

A switch is one conditional write of the index's row. It names a moment that lies ahead by more than any lookup may be
behind with the catalog: all lookups use the new generation from that moment on. The old one is kept up to date, and is
retired when the grace is over. Its table is dropped when no process can be reading or writing it any more.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.catalog.period_tables import tables_of
from shared.catalog.plans import generation_of
from shared.catalog.rows import ServingRow
from shared.entries.keys.periods import UNDATED
from shared.errors import LifecycleRefusedError, SettingError, StorageUnavailableError
from shared.lifecycle.index_state import BUILD, IndexStateReader, already_building
from shared.tasks.rows import Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.catalog.catalog import Catalog
    from shared.catalog.rows import CatalogGeneration, CatalogSnapshot
    from shared.definitions.model import Definitions
    from shared.lifecycle.index_state import IndexState
    from shared.tables.accounts import Accounts
    from shared.tasks.rows import Progress
    from shared.tasks.runner import TaskRunner

_ATTEMPTS: Final = 10
# Clocks of instances differ by less than this.
_CLOCKS_APART_SECONDS: Final = 1.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LifecycleTimes:
    """The clock, and how long things take."""

    now_seconds: Callable[[], float]
    refresh_seconds: float
    build_delay_seconds: int
    grace_seconds: int


class GenerationLifecycle:
    """Builds, switches, rolls back and retires generations."""

    def __init__(self, definitions: Definitions, catalog: Catalog, runner: TaskRunner, times: LifecycleTimes) -> None:
        self._catalog = catalog
        self.runner = runner
        self._times = times
        self._states = IndexStateReader(definitions, runner.rows, times.now_seconds)

    async def state(self, index: str) -> IndexState:
        """How an index stands; raises `UnknownIndexError`."""
        return await self._states.state(await self._catalog.read(), index)

    # ------------------------------------------------------------------------------------------------ build

    async def build(self, index: str, budget: float | None = None, kind: str = BUILD) -> Progress:
        """Start to build the generation of an index's definition, within a budget of transactions per second."""
        if budget is not None and not budget >= 1:
            raise LifecycleRefusedError(
                "BadBudget", f"A budget of {budget:g} transactions per second builds nothing: give 1 or more, or none."
            )
        snapshot = await self._catalog.read()
        state = await self._states.state(snapshot, index)
        target = self._states.to_build(snapshot, state)
        about = {"index": index, "generation": target.id, "budget": budget}
        task = Task(_next_build_id(target), kind, about, self._times.now_seconds(), target.starts_at)
        if not await self._catalog.write(replace(target, build=task.id)):
            raise already_building(index)
        if state.build is not None and state.build.task.state == "running":
            gone = replace(state.build.task, state="failed", ended_at=task.started_at, problem="Its process is gone.")
            await self.runner.rows.save_task(gone)
        await self.runner.start(task)
        found = await self.runner.rows.read(task.id)
        assert found is not None
        return found

    # ------------------------------------------------------------------------------------------------ read-only

    async def make_read_only(self, index: str) -> CatalogGeneration:
        """Write no more to what serves an index, while its successor takes its place: from here on it is behind.

        Only when every worker writes to the successor, so that no change is written to neither.
        """
        for _ in range(_ATTEMPTS):
            snapshot = await self._catalog.read()
            serving = self._states.to_make_read_only(snapshot, index)
            frozen = replace(serving, read_only_at=serving.read_only_at or int(self._times.now_seconds()))
            # On the condition that no switch happens meanwhile.
            if frozen == serving or await self._catalog.write(frozen, snapshot.served[index]):
                return frozen
        raise _contended(index)

    # ------------------------------------------------------------------------------------------------ switch

    async def switch(self, index: str, *, force: bool = False) -> ServingRow:
        """Let the generation of the definition serve; what serves now, and from which moment on."""
        for _ in range(_ATTEMPTS):
            snapshot = await self._catalog.read()
            served = await self._serve(snapshot, self._states.to_switch_to(snapshot, index, force=force))
            if served is not None:
                return served
        raise _contended(index)

    async def rollback(self, index: str) -> ServingRow:
        """Let the generation serve that served before."""
        for _ in range(_ATTEMPTS):
            snapshot = await self._catalog.read()
            served = await self._serve(snapshot, self._states.to_roll_back_to(snapshot, index))
            if served is not None:
                return served
        raise _contended(index)

    async def _serve(self, snapshot: CatalogSnapshot, target: CatalogGeneration) -> ServingRow | None:
        """One transaction: the index's row, and both generations as they were read; None when one has changed."""
        now_seconds = self._times.now_seconds()
        served = snapshot.served.get(target.index, ServingRow(target.index, ""))
        # Where the clock is ahead, lookups have switched a little earlier.
        old = snapshot.serving(target.index, now_seconds + _CLOCKS_APART_SECONDS)
        since = now_seconds + self._times.refresh_seconds + _CLOCKS_APART_SECONDS
        if old is None or old.is_retired or old.id == target.id:
            # Nothing serves, or a switch is taken back before its moment: at that moment every lookup looks again.
            after = replace(served, serving=target.id, before=served.serving, since=now_seconds)
            rows = [replace(target, unwanted_at=None)]
        else:
            after = replace(served, serving=target.id, before=old.id, since=since)
            rows = [replace(target, unwanted_at=None), replace(old, unwanted_at=int(now_seconds))]
        return after if await self._catalog.write(after, *rows) else None

    # ------------------------------------------------------------------------------------------------ retire

    async def retire_unwanted(self, accounts: Accounts) -> None:
        """Retire what has been unwanted for as long as the grace; drop tables that are not used any more. An account
        that does not answer does not stop the others; its error is raised in the end."""
        snapshot = await self._catalog.read()
        unavailable: StorageUnavailableError | None = None
        for generation in snapshot.generations:
            try:
                if generation.is_retired:
                    await self._drop_if_unused(generation, accounts)
                else:
                    await self._retire_if_unwanted(snapshot, generation)
            except StorageUnavailableError as error:
                unavailable = unavailable or error
        if unavailable is not None:
            raise unavailable

    async def _retire_if_unwanted(self, snapshot: CatalogSnapshot, generation: CatalogGeneration) -> None:
        """If another process changes the row first, the next run looks again."""
        now = int(self._times.now_seconds())
        if self._states.is_wanted(snapshot, generation):
            if generation.unwanted_at is not None:
                await self._catalog.write(replace(generation, unwanted_at=None))
        elif generation.unwanted_at is None:
            await self._catalog.write(replace(generation, unwanted_at=now))
        elif now - generation.unwanted_at > self._grace_seconds(generation):
            await self._retire(generation, now)

    def _grace_seconds(self, generation: CatalogGeneration) -> float:
        """What is behind cannot be rolled back to: it goes as soon as every lookup has switched."""
        if generation.is_updated:
            return self._times.grace_seconds
        return self._times.refresh_seconds + 2 * _CLOCKS_APART_SECONDS

    async def _retire(self, generation: CatalogGeneration, now: int) -> None:
        """On the condition that its row is as it was read: a switch or a rollback to it writes that row, too."""
        if await self._catalog.write(replace(generation, state="retired", retired_at=now)):
            _log.info("A generation was retired", extra={"generation": generation.id, "index": generation.index})

    async def _drop_if_unused(self, retired: CatalogGeneration, accounts: Accounts) -> None:
        now = int(self._times.now_seconds())
        if retired.dropped_at is None and now - (retired.retired_at or now) > self._times.build_delay_seconds:
            await self._drop(retired, accounts)

    async def _drop(self, retired: CatalogGeneration, accounts: Accounts) -> None:
        try:
            accounts.require([retired.definition])
        except SettingError as error:
            # Its connection has gone with its index. The other generations must not wait for it.
            details = {"generation": retired.id, "table": retired.table}
            _log.warning("A table cannot be dropped: %s", error, extra=details)
            return
        # Its own tables first: without them no worker makes a table for a period.
        generation = generation_of(retired)
        for account, table in sorted(generation.tables()):
            await accounts.tables(account).delete_table(table)
        for place in await tables_of(accounts, generation):
            if place.start != UNDATED:
                await accounts.tables(place.account).delete_table(place.table)
        await self._catalog.change(retired.id, partial(_dropped, now=int(self._times.now_seconds())))


def _dropped(generation: CatalogGeneration, *, now: int) -> CatalogGeneration:
    return replace(generation, dropped_at=now)


def _next_build_id(target: CatalogGeneration) -> str:
    """Builds of one generation are counted."""
    number = 1 if target.build is None else int(target.build.rpartition("-")[2]) + 1
    return f"{BUILD}-{target.id}-{number}"


def _contended(index: str) -> StorageUnavailableError:
    return StorageUnavailableError(
        f'The catalog rows of index "{index}" change all the time: try again later.', outcome_unknown=False
    )
