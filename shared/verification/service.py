"""Starts verifications and shows their results, for operators and a timer. A refusal says why, and changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from shared.catalog.register import generation_of_definition, index_of
from shared.errors import LifecycleRefusedError
from shared.tasks.rows import Task
from shared.verification.report import DifferenceReport
from shared.verification.sample import SAMPLE_MAX
from shared.verification.task import VERIFY, VerificationRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.catalog.catalog import Catalog
    from shared.catalog.rows import CatalogGeneration, CatalogSnapshot
    from shared.definitions.model import Definitions
    from shared.tasks.runner import TaskRunner
    from shared.verification.report_json import DifferenceReportJson
    from shared.verification.rows import VerificationRows

_SECONDS_PER_DAY: Final = 86_400
# So many are listed.
LATEST: Final = 50


class VerificationResult(NamedTuple):
    """A verification: its task, and what it has found so far."""

    task: Task
    report: DifferenceReportJson


@dataclass(frozen=True, slots=True)
class VerificationSchedule:
    """What the timer verifies: some facts of each index every hour, everything after so many days."""

    sample: int
    full_days: int
    budget: int


class VerificationService:
    """Starts verifications and shows how they stand."""

    def __init__(
        self,
        definitions: Definitions,
        catalog: Catalog,
        runner: TaskRunner,
        rows: VerificationRows,
        now_seconds: Callable[[], float],
    ) -> None:
        self._definitions = definitions
        self._catalog = catalog
        self._runner = runner
        self._rows = rows
        self._now_seconds = now_seconds

    async def start(
        self,
        index: str,
        generation: str | None = None,
        sample: int | None = None,
        budget: float | None = None,
        *,
        repairs: bool = False,
        reconciles: bool = False,
    ) -> VerificationResult:
        """Start a verification of the generation that is asked for, else of the one that the definition says."""
        _check_numbers(sample, budget)
        snapshot = await self._catalog.read()
        target = self._target(snapshot, index, generation)
        if reconciles and target.source_definition.cosmos is None:
            raise LifecycleRefusedError(
                "CannotReconcile",
                f'Source "{target.source}" has no container to compare with: send delete events instead.',
            )
        return await self._start(VerificationRequest(index, target.id, sample, repairs, reconciles, budget))

    async def _start(self, request: VerificationRequest) -> VerificationResult:
        now_seconds = self._now_seconds()
        identity = f"{VERIFY}-{request.generation}-{int(now_seconds)}"
        for number in count(1):
            await self._check_idle(request)
            # A verification of this very second may be done already.
            name = identity if number == 1 else f"{identity}-{number}"
            task = Task(name, VERIFY, request.plain(), now_seconds)
            if await self._runner.start(task):
                break
        return VerificationResult(task, DifferenceReport().plain())

    async def _check_idle(self, request: VerificationRequest) -> None:
        for task in await self._runner.rows.all():
            if (
                task.kind == VERIFY
                and task.state == "running"
                and VerificationRequest.of(task).generation == request.generation
            ):
                raise LifecycleRefusedError(
                    "AlreadyVerifying",
                    f'Index "{request.index}" is being verified by {task.id}: wait until it is done.',
                )

    def _target(self, snapshot: CatalogSnapshot, index: str, generation: str | None) -> CatalogGeneration:
        found = index_of(self._definitions, index)
        if generation is None:
            target = generation_of_definition(snapshot, found, self._definitions.sources[found.source])
        else:
            target = snapshot.generation(generation)
        if target is None or target.index != index or not target.is_updated:
            raise LifecycleRefusedError(
                "NothingToVerify",
                f'Index "{index}" has no generation {generation or "of its definition"} that is kept up to date: '
                "deploy it, or name another.",
            )
        if target.state == "building":
            raise LifecycleRefusedError(
                "NotBuilt",
                f'Generation {target.id} of index "{index}" is not built yet, so that entries are missing: build it '
                "first, or name the one that serves.",
            )
        return target

    async def found(self, index: str, identity: str) -> VerificationResult:
        """A verification of an index, by its id."""
        task = await self._runner.rows.task(identity)
        if task is None or task.kind != VERIFY or VerificationRequest.of(task).index != index:
            raise LifecycleRefusedError(
                "NoSuchVerification", f'There is no verification {identity} of index "{index}", or it is forgotten.'
            )
        saved = await self._rows.read(index, identity)
        return VerificationResult(task, (DifferenceReport() if saved is None else saved.state.report).plain())

    async def latest(self, index: str) -> list[VerificationResult]:
        """The latest verifications of an index, the last one first."""
        index_of(self._definitions, index)
        reports = await self._rows.reports(index)
        tasks = sorted(await self._tasks(index), key=lambda task: task.started_at, reverse=True)
        return [VerificationResult(task, reports.get(task.id) or DifferenceReport().plain()) for task in tasks[:LATEST]]

    async def _tasks(self, index: str) -> list[Task]:
        tasks = [task for task in await self._runner.rows.all() if task.kind == VERIFY]
        return [task for task in tasks if VerificationRequest.of(task).index == index]

    async def start_due(self, schedule: VerificationSchedule) -> int:
        """Start what is due for every index, and forget what ended long ago; how many were started."""
        snapshot = await self._catalog.read()
        started = 0
        for index in self._definitions.indexes:
            request = self._due(snapshot, index, schedule)
            if request is not None:
                started += await self._try_start(request)
        for index in {*self._definitions.indexes, *(generation.index for generation in snapshot.generations)}:
            known = {task.id for task in await self._tasks(index)}
            await self._rows.forget(index, [task for task in await self._rows.reports(index) if task not in known])
        await self._rows.forget_samples(each.id for each in snapshot.generations if each.is_updated)
        return started

    def _due(self, snapshot: CatalogSnapshot, index: str, schedule: VerificationSchedule) -> VerificationRequest | None:
        serving = snapshot.serving(index, self._now_seconds())
        if serving is None or not serving.is_updated:
            return None
        since = serving.entered_at if serving.verified is None else serving.verified.at_seconds
        if schedule.full_days and self._now_seconds() - since >= schedule.full_days * _SECONDS_PER_DAY:
            return VerificationRequest(index, serving.id, budget=schedule.budget or None)
        return VerificationRequest(index, serving.id, sample=schedule.sample) if schedule.sample else None

    async def _try_start(self, request: VerificationRequest) -> bool:
        try:
            await self._start(request)
        except LifecycleRefusedError:
            return False  # one is running
        return True


def _check_numbers(sample: int | None, budget: float | None) -> None:
    if sample is not None and not 1 <= sample <= SAMPLE_MAX:
        raise LifecycleRefusedError(
            "BadSample", f"A sample of {sample} facts cannot be taken: ask for 1 to {SAMPLE_MAX}, or for everything."
        )
    if budget is not None and not budget >= 1:
        raise LifecycleRefusedError(
            "BadBudget", f"A budget of {budget:g} transactions per second verifies nothing: give 1 or more, or none."
        )
