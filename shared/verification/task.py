"""Verifications as long work: one slice that goes on page by page, within a budget; the catalog gets the result."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from shared.catalog.plans import generation_of, source_plan
from shared.errors import TaskFailedError
from shared.tasks.budget import Budget
from shared.tasks.runner import Phase, SliceStep
from shared.verification.assembly import RepairOptions, Subject, new_confirmer, new_sampling, new_verification
from shared.verification.rows import SavedVerification, VerificationRows
from shared.verification.verify import ScanState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from shared.catalog.catalog import Catalog
    from shared.tasks.rows import Progress, Slice, Task
    from shared.verification.assembly import VerificationDependencies

VERIFY: Final = "verification"
# So long at a time: then the state is written, and what was done is not lost.
STRETCH_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class VerificationRequest:
    """What a verification is asked to do; `sample` is how many facts, none for all of them."""

    index: str
    generation: str
    sample: int | None = None
    repairs: bool = False
    reconciles: bool = False
    # Storage transactions per second; none for no limit.
    budget: float | None = None

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def of(cls, task: Task) -> VerificationRequest:
        """What a task is about."""
        return cls(**{name: task.about[name] for name in cls.__slots__ if name in task.about})


class Verifications:
    """The kind of task that verifies generations."""

    def __init__(self, catalog: Catalog, dependencies: VerificationDependencies) -> None:
        self._catalog = catalog
        self._dependencies = dependencies
        self._services = dependencies.services
        self._rows = VerificationRows(dependencies.services.accounts.main)

    async def first_phase(self, task: Task) -> Phase:
        """One slice: pages of a table come one after the other. A deleted table is made again, empty."""
        generation = (await self._subject(VerificationRequest.of(task))).generation
        for account, table in sorted(generation.tables()):
            await self._services.accounts.tables(account).create_table(table)
        return Phase("1-verify", {"all": None})

    async def next_phase(self, progress: Progress, phase: str) -> Phase | None:
        """Note what was found, so that a switch can rely on it. A sample proves nothing."""
        request = VerificationRequest.of(progress.task)
        saved = await self._rows.read(request.index, progress.task.id)
        if saved is not None:
            report = saved.state.report
            self._dependencies.report_verified(request.index, request.sample, report.plain())
            if request.sample is None:
                await self._catalog.note_verified(request.generation, report.total, self._services.now_seconds())
        return None

    async def work_on_slice(self, progress: Progress, work_slice: Slice) -> AsyncIterator[SliceStep]:
        """Stretch after stretch, the state written after each."""
        request = VerificationRequest.of(progress.task)
        subject = await self._subject(request)
        saved = await self._rows.read(request.index, progress.task.id) or SavedVerification(ScanState())
        budget = Budget(request.budget, self._dependencies.steady_seconds, self._dependencies.grace_period.sleep)
        metered = self._dependencies.within(budget)
        while True:
            before = Counter(saved.state.report.counts)
            await self._stretch(subject, metered, request, saved.state)
            after = await self._rows.save(request.index, progress.task.id, saved)
            if after is None:
                return  # overtaken: another worker goes on from there
            saved = after
            done = saved.state.phase == "done"
            # What is counted anew is less than before.
            worked = Counter(saved.state.report.counts)
            worked.subtract(before)
            counts = {**{name: count for name, count in worked.items() if count}, "transactions": budget.spent}
            budget.spent = 0
            yield SliceStep(saved.state.phase, counts, is_done=done)
            if done:
                return

    async def _stretch(
        self, subject: Subject, metered: VerificationDependencies, request: VerificationRequest, state: ScanState
    ) -> None:
        if state.phase == "done":
            return  # it was written, but not noted in the catalog
        options = RepairOptions(request.repairs, request.reconciles)
        if request.sample is not None:
            confirmer = new_confirmer(subject, metered, options)
            await new_sampling(subject, metered).run(request.sample, confirmer, state.report)
            state.phase = "done"
            return
        verification = new_verification(subject, metered, options, state)
        stops_at = metered.steady_seconds() + STRETCH_SECONDS
        while not verification.is_done:
            await verification.step()
            if metered.steady_seconds() >= stops_at:
                return

    async def _subject(self, request: VerificationRequest) -> Subject:
        snapshot = await self._catalog.read()
        target = snapshot.generation(request.generation)
        if target is None or not target.is_updated:
            raise TaskFailedError(f"Generation {request.generation} is not kept any more: there is nothing to verify.")
        plan = source_plan(snapshot, target.source_definition)
        own = [generation for generation in plan.generations if generation.id == target.id]
        return Subject(plan, target.source_definition, own[0] if own else generation_of(target))
