"""The life of generations: build, switch, roll back, retire. Every refusal says why and changes nothing.

A switch is one conditional write of the index's row. It names a moment that lies ahead by more than any lookup may be
behind with the catalog: all lookups use the new generation from that moment on. The old one is kept up to date, and is
retired when the grace is over; its table goes when nobody can be reading or writing it any more.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.catalog.period_tables import tables_of
from shared.catalog.plans import generation_of
from shared.catalog.register import check_sources, generation_of_definition, index_of
from shared.catalog.rows import ServingRow
from shared.entries.keys.periods import UNDATED
from shared.errors import DefinitionsError, LifecycleRefusedError, SettingError, StorageUnavailableError
from shared.tasks.rows import Task
from shared.tasks.runner import CLAIM_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.catalog.catalog import Catalog
    from shared.catalog.rows import CatalogGeneration, CatalogSnapshot
    from shared.definitions.model import Definitions
    from shared.tables.accounts import Accounts
    from shared.tasks.rows import Progress
    from shared.tasks.runner import TaskRunner

BUILD: Final = "build"
_ATTEMPTS: Final = 10
# Clocks of instances differ by less than this.
_CLOCKS_APART_SECONDS: Final = 1.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LifecycleTimes:
    """How long things take."""

    now_seconds: Callable[[], float]
    refresh_seconds: float
    build_delay_seconds: int
    grace_seconds: int


@dataclass(frozen=True, slots=True)
class IndexState:
    """An index: what its definition says it should be, what serves now, and how the build stands."""

    index: str
    target: CatalogGeneration | None
    serving: CatalogGeneration | None
    build: Progress | None = None


class GenerationLifecycle:
    """Builds, switches, rolls back and retires generations."""

    def __init__(self, definitions: Definitions, catalog: Catalog, runner: TaskRunner, clocks: LifecycleTimes) -> None:
        self._definitions = definitions
        self._catalog = catalog
        self.runner = runner
        self._clocks = clocks

    async def state(self, index: str) -> IndexState:
        """How an index stands; raises `UnknownIndexError`."""
        return await self._state(await self._catalog.read(), index)

    async def states(self) -> list[IndexState]:
        """How every index of the definitions stands."""
        snapshot = await self._catalog.read()
        return [await self._state(snapshot, index) for index in self._definitions.indexes]

    async def _state(self, snapshot: CatalogSnapshot, index: str) -> IndexState:
        target = self._target(snapshot, index)
        serving = snapshot.serving(index, self._clocks.now_seconds())
        build = None if target is None or target.build is None else await self.runner.rows.read(target.build)
        return IndexState(index, target, None if serving is None or serving.is_retired else serving, build)

    def _target(self, snapshot: CatalogSnapshot, index: str) -> CatalogGeneration | None:
        """The generation of the definition."""
        found = index_of(self._definitions, index)
        return generation_of_definition(snapshot, found, self._definitions.sources[found.source])

    # ------------------------------------------------------------------------------------------------ build

    async def build(self, index: str, budget: float | None = None, kind: str = BUILD) -> Progress:
        """Start to build the generation of an index's definition, within a budget of transactions per second."""
        if budget is not None and not budget >= 1:
            raise LifecycleRefusedError(
                "BadBudget", f"A budget of {budget:g} transactions per second builds nothing: give 1 or more, or none."
            )
        snapshot = await self._catalog.read()
        state = await self._state(snapshot, index)
        target = self._buildable(snapshot, state)
        task = Task(
            _next_id(target),
            kind,
            {"index": index, "generation": target.id, "budget": budget},
            self._clocks.now_seconds(),
            target.starts_at,
        )
        if not await self._catalog.write(replace(target, build=task.id)):
            raise _already_building(index)
        if state.build is not None and state.build.task.state == "running":
            gone = replace(state.build.task, state="failed", ended_at=task.started_at, problem="Its process is gone.")
            await self.runner.rows.save_task(gone)
        await self.runner.start(task)
        found = await self.runner.rows.read(task.id)
        assert found is not None
        return found

    def _buildable(self, snapshot: CatalogSnapshot, state: IndexState) -> CatalogGeneration:
        index, target = state.index, state.target
        if target is None:
            raise LifecycleRefusedError(
                "NothingToBuild", f'No worker has entered the definition of index "{index}" yet: deploy it first.'
            )
        if target.state == "serving":
            raise LifecycleRefusedError(
                "NothingToBuild", f'Index "{index}" is served by what its definition says: there is nothing to build.'
            )
        if target.state == "standby":
            raise LifecycleRefusedError("NothingToBuild", f'Index "{index}" is built already: switch to it.')
        if state.build is not None and self._is_going_on(state.build):
            raise _already_building(index)
        self._check_sources(snapshot)
        return target

    def _is_going_on(self, build: Progress) -> bool:
        """The app goes on with its own builds, whatever ends. One that another process works on ends with that: its
        time has come, and nobody holds a slice of it."""
        task, now_seconds = build.task, self._clocks.now_seconds()
        if task.state != "running" or task.kind == BUILD:
            return task.state == "running"
        is_held = any(not one.is_done and one.claimed_until > now_seconds for one in build.slices)
        return is_held or now_seconds < task.not_before + CLAIM_SECONDS

    def _check_sources(self, snapshot: CatalogSnapshot) -> None:
        """The ledger finds facts by what identified them before."""
        try:
            check_sources(snapshot, self._definitions)
        except DefinitionsError as error:
            raise LifecycleRefusedError("CannotBuild", str(error)) from error

    # ------------------------------------------------------------------------------------------------ read-only

    async def make_read_only(self, index: str) -> CatalogGeneration:
        """Write no more to what serves an index, while its successor takes its place: from here on it is behind.

        Only when every worker writes to the successor, so that no change is written to neither.
        """
        for _ in range(_ATTEMPTS):
            snapshot = await self._catalog.read()
            serving = self._movable(snapshot, index)
            frozen = replace(serving, read_only_at=serving.read_only_at or int(self._clocks.now_seconds()))
            # On the condition that nobody switches meanwhile.
            if frozen == serving or await self._catalog.write(frozen, snapshot.served[index]):
                return frozen
        raise _contended(index)

    def _movable(self, snapshot: CatalogSnapshot, index: str) -> CatalogGeneration:
        target, now_seconds = self._target(snapshot, index), self._clocks.now_seconds()
        serving = snapshot.serving(index, now_seconds)
        if target is None or serving is None or serving.is_retired or serving.id == target.id:
            raise LifecycleRefusedError(
                "NothingToMove", f'Nothing is to take the place of what serves index "{index}": change it first.'
            )
        if now_seconds < target.starts_at:
            raise LifecycleRefusedError(
                "TooEarly",
                f'Not every worker writes to the new generation of index "{index}" yet: '
                f"ask again in {target.starts_at - now_seconds:.0f} s.",
            )
        return serving

    # ------------------------------------------------------------------------------------------------ switch

    async def switch(self, index: str, *, force: bool = False) -> ServingRow:
        """Let the generation of the definition serve; what serves now, and from which moment on."""
        for _ in range(_ATTEMPTS):
            snapshot = await self._catalog.read()
            target = self._switchable(snapshot, index, force=force)
            served = await self._serve(snapshot, target)
            if served is not None:
                return served
        raise _contended(index)

    def _switchable(self, snapshot: CatalogSnapshot, index: str, *, force: bool) -> CatalogGeneration:
        target = self._target(snapshot, index)
        if target is None or target.state == "building":
            raise LifecycleRefusedError(
                "NotBuilt", f'What the definition of index "{index}" says is not built yet: build it first.'
            )
        if target.state == "serving":
            raise LifecycleRefusedError(
                "AlreadyServing", f'Index "{index}" is served by what its definition says: there is nothing to switch.'
            )
        if not force:
            _check_complete(target)
            _check_verified(target)
        return target

    async def rollback(self, index: str) -> ServingRow:
        """Let the generation serve that served before."""
        for _ in range(_ATTEMPTS):
            snapshot = await self._catalog.read()
            self._target(snapshot, index)
            served = await self._serve(snapshot, _before(snapshot, index))
            if served is not None:
                return served
        raise _contended(index)

    async def _serve(self, snapshot: CatalogSnapshot, target: CatalogGeneration) -> ServingRow | None:
        """One transaction: the index's row, and both generations as they were read; None when one is not."""
        now_seconds = self._clocks.now_seconds()
        served = snapshot.served.get(target.index, ServingRow(target.index, ""))
        # Where the clock is ahead, lookups have switched a little earlier.
        old = snapshot.serving(target.index, now_seconds + _CLOCKS_APART_SECONDS)
        since = now_seconds + self._clocks.refresh_seconds + _CLOCKS_APART_SECONDS
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
        """Retire what has been unwanted for as long as the grace; drop tables that nobody uses any more."""
        snapshot = await self._catalog.read()
        for one in snapshot.generations:
            await self._retire_unwanted(snapshot, one, accounts)

    async def _retire_unwanted(self, snapshot: CatalogSnapshot, one: CatalogGeneration, accounts: Accounts) -> None:
        """Whoever else tidies, or is faster with another change: the next run looks again."""
        now = int(self._clocks.now_seconds())
        if one.is_retired:
            if one.dropped_at is None and now - (one.retired_at or now) > self._clocks.build_delay_seconds:
                await self._drop(one, accounts)
            return
        if self._is_wanted(snapshot, one):
            if one.unwanted_at is not None:
                await self._catalog.write(replace(one, unwanted_at=None))
        elif one.unwanted_at is None:
            await self._catalog.write(replace(one, unwanted_at=now))
        elif now - one.unwanted_at > self._grace_seconds(one):
            await self._retire(snapshot, one, now)

    def _grace_seconds(self, one: CatalogGeneration) -> float:
        """What is behind cannot be rolled back to: it goes as soon as every lookup has switched."""
        if one.is_updated:
            return self._clocks.grace_seconds
        return self._clocks.refresh_seconds + 2 * _CLOCKS_APART_SECONDS

    def _is_wanted(self, snapshot: CatalogSnapshot, one: CatalogGeneration) -> bool:
        """Whether a generation serves an index of the definitions, or is what its definition says."""
        if one.index not in self._definitions.indexes:
            return False
        serving = snapshot.serving(one.index, self._clocks.now_seconds())
        target = self._target(snapshot, one.index)
        return one.state == "serving" or one.id in {each.id for each in (serving, target) if each is not None}

    async def _retire(self, snapshot: CatalogSnapshot, one: CatalogGeneration, now: int) -> None:
        """On the condition that the index's row is as it was read: nobody is switching to it meanwhile."""
        retired = replace(one, state="retired", retired_at=now)
        served = snapshot.served.get(one.index)
        rows = (retired,) if served is None else (retired, served)
        if await self._catalog.write(*rows):
            _log.info("A generation was retired", extra={"generation": one.id, "index": one.index})

    async def _drop(self, one: CatalogGeneration, accounts: Accounts) -> None:
        try:
            accounts.require([one.definition])
        except SettingError as error:
            # Its connection has gone with its index. The others must not wait for it.
            _log.warning("A table cannot be dropped: %s", error, extra={"generation": one.id, "table": one.table})
            return
        # Its own tables first: without them nobody makes one for a period.
        generation = generation_of(one)
        for account, table in sorted(generation.tables()):
            await accounts.tables(account).delete_table(table)
        for place in await tables_of(accounts, generation):
            if place.start != UNDATED:
                await accounts.tables(place.account).delete_table(place.table)
        await self._catalog.change(one.id, partial(_dropped, now=int(self._clocks.now_seconds())))


def _dropped(one: CatalogGeneration, *, now: int) -> CatalogGeneration:
    return replace(one, dropped_at=now)


def _next_id(target: CatalogGeneration) -> str:
    """Builds of one generation are counted."""
    number = 1 if target.build is None else int(target.build.rpartition("-")[2]) + 1
    return f"{BUILD}-{target.id}-{number}"


def _before(snapshot: CatalogSnapshot, index: str) -> CatalogGeneration:
    served = snapshot.served.get(index)
    before = snapshot.generation(served.before) if served is not None and served.before else None
    if before is None:
        raise LifecycleRefusedError(
            "NothingToRollBack", f'Nothing served index "{index}" before: there is nothing to roll back to.'
        )
    if before.is_retired:
        raise LifecycleRefusedError(
            "RollbackExpired",
            f'The generation that served index "{index}" before is retired: put its definition back and build it.',
        )
    if not before.is_updated:
        raise LifecycleRefusedError(
            "RollbackExpired",
            f'The generation that served index "{index}" before was read-only while it moved, so it lacks changes: '
            "put its definition back and build it.",
        )
    return before


def _check_complete(target: CatalogGeneration) -> None:
    if target.unbuilt:
        raise LifecycleRefusedError(
            "Incomplete",
            f'{target.unbuilt} facts of index "{target.index}" could not be found again when it was built: '
            "build it from an export, or switch with force.",
        )


def _check_verified(target: CatalogGeneration) -> None:
    verified = target.verified
    if verified is None or verified.at_seconds < (target.built_at or 0):
        raise LifecycleRefusedError(
            "NotVerified", f'The new generation of index "{target.index}" is not verified: verify it, or use force.'
        )
    if verified.differences:
        raise LifecycleRefusedError(
            "NotVerified",
            f'The new generation of index "{target.index}" had {verified.differences} differences when it was '
            "verified: repair it and verify it again, or use force.",
        )


def _already_building(index: str) -> LifecycleRefusedError:
    return LifecycleRefusedError("AlreadyBuilding", f'Index "{index}" is being built: wait until it is done.')


def _contended(index: str) -> StorageUnavailableError:
    return StorageUnavailableError(
        f'The catalog rows of index "{index}" change all the time: try again later.', outcome_unknown=False
    )
