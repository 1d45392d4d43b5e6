"""How an index stands, and what that allows: which generation can be built, moved from, switched to or rolled back to.

Nothing is changed here. Every refusal says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.catalog.register import check_sources, generation_of_definition, index_of
from shared.errors import DefinitionsError, LifecycleRefusedError
from shared.tasks.runner import CLAIM_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.catalog.rows import CatalogGeneration, CatalogSnapshot
    from shared.definitions.model import Definitions
    from shared.tasks.rows import Progress, TaskRows

BUILD: Final = "build"


@dataclass(frozen=True, slots=True)
class IndexState:
    """An index: what its definition says it should be, what serves now, and how the build stands."""

    index: str
    target: CatalogGeneration | None
    serving: CatalogGeneration | None
    build: Progress | None = None


class IndexStateReader:
    """Reads how the indexes of some definitions stand."""

    def __init__(self, definitions: Definitions, rows: TaskRows, now_seconds: Callable[[], float]) -> None:
        self._definitions = definitions
        self._rows = rows
        self._now_seconds = now_seconds

    async def state(self, snapshot: CatalogSnapshot, index: str) -> IndexState:
        """How an index stands; raises `UnknownIndexError`."""
        target = self.target(snapshot, index)
        serving = snapshot.serving(index, self._now_seconds())
        build = None if target is None or target.build is None else await self._rows.read(target.build)
        return IndexState(index, target, None if serving is None or serving.is_retired else serving, build)

    def target(self, snapshot: CatalogSnapshot, index: str) -> CatalogGeneration | None:
        """The generation of the definition; raises `UnknownIndexError`."""
        found = index_of(self._definitions, index)
        return generation_of_definition(snapshot, found, self._definitions.sources[found.source])

    def is_wanted(self, snapshot: CatalogSnapshot, generation: CatalogGeneration) -> bool:
        """Whether a generation serves an index of the definitions, or is what its definition says."""
        if generation.index not in self._definitions.indexes:
            return False
        serving = snapshot.serving(generation.index, self._now_seconds())
        target = self.target(snapshot, generation.index)
        needed = {found.id for found in (serving, target) if found is not None}
        return generation.state == "serving" or generation.id in needed

    # ------------------------------------------------------------------------------------------------ what it allows

    def to_build(self, snapshot: CatalogSnapshot, state: IndexState) -> CatalogGeneration:
        """The generation that a build may fill now."""
        index, target = state.index, state.target
        if target is None:
            raise LifecycleRefusedError(
                "NothingToBuild", f'No worker has entered the definition of index "{index}" yet: deploy it first.'
            )
        if target.state == "serving":
            raise LifecycleRefusedError(
                "NothingToBuild", f'Index "{index}" already serves what its definition says: there is nothing to build.'
            )
        if target.state == "standby":
            raise LifecycleRefusedError("NothingToBuild", f'Index "{index}" is built already: switch to it.')
        if state.build is not None and self._is_going_on(state.build):
            raise already_building(index)
        self._check_sources(snapshot)
        return target

    def _is_going_on(self, build: Progress) -> bool:
        """Whether a process works on a build.

        The app goes on with its own builds after any crash. A build of another process ends with that process: once its
        time has come and no slice of it is claimed, it is over.
        """
        task, now_seconds = build.task, self._now_seconds()
        if task.state != "running" or task.kind == BUILD:
            return task.state == "running"
        unfinished = [work_slice for work_slice in build.slices if not work_slice.is_done]
        is_claimed = any(work_slice.claimed_until > now_seconds for work_slice in unfinished)
        return is_claimed or now_seconds < task.not_before + CLAIM_SECONDS

    def _check_sources(self, snapshot: CatalogSnapshot) -> None:
        """The ledger finds facts by what identified them before."""
        try:
            check_sources(snapshot, self._definitions)
        except DefinitionsError as error:
            raise LifecycleRefusedError("CannotBuild", str(error)) from error

    def to_make_read_only(self, snapshot: CatalogSnapshot, index: str) -> CatalogGeneration:
        """The serving generation, if every worker writes to the generation that takes its place."""
        target, now_seconds = self.target(snapshot, index), self._now_seconds()
        serving = snapshot.serving(index, now_seconds)
        if target is None or serving is None or serving.is_retired or serving.id == target.id:
            raise LifecycleRefusedError(
                "NothingToMove", f'There is nothing to replace what serves index "{index}": change it first.'
            )
        if now_seconds < target.starts_at:
            raise LifecycleRefusedError(
                "TooEarly",
                f'Not every worker writes to the new generation of index "{index}" yet: '
                f"ask again in {target.starts_at - now_seconds:.0f} s.",
            )
        return serving

    def to_switch_to(self, snapshot: CatalogSnapshot, index: str, *, force: bool) -> CatalogGeneration:
        """The generation of the definition, if it may serve; with `force` also when it is incomplete or unverified."""
        target = self.target(snapshot, index)
        if target is None or target.state == "building":
            raise LifecycleRefusedError(
                "NotBuilt", f'What the definition of index "{index}" says is not built yet: build it first.'
            )
        if target.state == "serving":
            raise LifecycleRefusedError(
                "AlreadyServing",
                f'Index "{index}" already serves what its definition says: there is nothing to switch.',
            )
        if not force:
            _check_complete(target)
            _check_owes_nothing(target, snapshot)
            _check_verified(target)
        return target

    def to_roll_back_to(self, snapshot: CatalogSnapshot, index: str) -> CatalogGeneration:
        """The generation that served before, if it is still kept up to date."""
        index_of(self._definitions, index)
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


def already_building(index: str) -> LifecycleRefusedError:
    """The refusal of a second build."""
    return LifecycleRefusedError("AlreadyBuilding", f'Index "{index}" is being built: wait until it is done.')


def _check_complete(target: CatalogGeneration) -> None:
    if target.unbuilt:
        raise LifecycleRefusedError(
            "Incomplete",
            f'{target.unbuilt} facts of index "{target.index}" could not be found again when it was built: '
            "build it from an export, or switch with force.",
        )


def _check_owes_nothing(target: CatalogGeneration, snapshot: CatalogSnapshot) -> None:
    for owed in snapshot.owed.values():
        if target.id in owed.generations:
            raise LifecycleRefusedError(
                "Incomplete",
                f'Storage account {owed.account} is or was down, and entries of index "{target.index}" wait for it: '
                "switch when they have arrived, or use force.",
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
