"""Confirms suspects: examines each fact, and again after a pause, before anything counts as a difference.

The pause is for claims whose rows are on their way at that moment. When hundreds of facts are wrong there is no doubt
left, and no more pauses. What is confirmed is repaired, if that is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from shared.pipeline.concurrency import all_of
from shared.verification.differences import differences_of
from shared.verification.report import OWING
from shared.verification.scans import DEAD_LETTERS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from shared.pipeline.concurrency import RunAll
    from shared.verification.differences import DifferenceKind, Differences
    from shared.verification.examine import Examined, Examiner
    from shared.verification.repair import Repairer
    from shared.verification.report import DifferenceReport
    from shared.verification.suspects import Suspect

_DOUBTED_MAX: Final = 2000

# What a repair fixes. Hidden rows are no difference: they only have no use.
RepairableKind: TypeAlias = "DifferenceKind | Literal['masked']"
REPAIRABLE: Final[frozenset[RepairableKind]] = frozenset({"missing", "stale", "ghost", "unapplied", "masked"})
# A separate option, because a container that was emptied by mistake would empty every index.
RECONCILABLE: Final[frozenset[RepairableKind]] = frozenset({"orphan"})


@dataclass(frozen=True, slots=True)
class GracePeriod:
    """Changes younger than `grace_seconds` may be on their way; rows of a claim come within `pause_seconds`."""

    grace_seconds: float
    pause_seconds: float
    sleep: Callable[[float], Awaitable[None]]


class _Examination(NamedTuple):
    examined: Examined
    differences: Differences


class Confirmer:
    """Confirms differences of one generation. `run_all` is not the examiner's own: it runs examinations."""

    def __init__(
        self,
        examiner: Examiner,
        grace_period: GracePeriod,
        run_all: RunAll,
        now_seconds: Callable[[], float],
        repairer: Repairer | None = None,
        repaired_kinds: frozenset[RepairableKind] = frozenset(),
    ) -> None:
        self._examiner = examiner
        self._repairer = repairer
        self._repaired_kinds = repaired_kinds
        self._grace_period = grace_period
        self._run_all = run_all
        self._now_seconds = now_seconds

    async def confirm_and_repair(self, suspects: Sequence[Suspect], report: DifferenceReport) -> None:
        """Note what is wrong with these facts, and repair it if that is asked for."""
        examinations = await self._examine_all(suspects)
        report.counts["examined"] += len(suspects)
        doubtful = [suspect for suspect, found in zip(suspects, examinations, strict=True) if _differs(found)]
        if doubtful and report.total < _DOUBTED_MAX:
            await self._grace_period.sleep(self._grace_period.pause_seconds)
            again = iter(await self._examine_all(doubtful))
            examinations = [next(again) if _differs(found) else found for found in examinations]
        for suspect, found in zip(suspects, examinations, strict=True):
            if found is None:
                report.counts["behind"] += 1
            else:
                await self._note(suspect, *found, report)

    async def _examine_all(self, suspects: Sequence[Suspect]) -> list[_Examination | None]:
        return await all_of(self._run_all, [partial(self._examine, suspect) for suspect in suspects])

    async def _examine(self, suspect: Suspect) -> _Examination | None:
        """None for a fact that changes all the time: the worker that changes it writes its entries."""
        examined = await self._examiner.examine(suspect.fact, sorted(suspect.addresses))
        if examined is None:
            return None
        recent_after_seconds = self._now_seconds() - self._grace_period.grace_seconds
        return _Examination(examined, differences_of(examined, recent_after_seconds))

    async def _note(
        self, suspect: Suspect, examined: Examined, differences: Differences, report: DifferenceReport
    ) -> None:
        for difference in differences.found:
            if suspect.answers_for(difference):
                report.note(examined.fact, difference, has_versions=not self._examiner.generation.index.is_summary)
        if "facts" in suspect.scans and differences.standing in ("behind", "failed"):
            report.counts["behind" if differences.standing == "behind" else DEAD_LETTERS] += 1
        report.counts[OWING] += differences.standing == "owing"
        wrong: set[RepairableKind] = {difference.kind for difference in differences.found}
        if differences.masked:
            wrong.add("masked")
        if self._repairer is not None and wrong & self._repaired_kinds:
            is_right = await self._repairer.repair(examined.fact, sorted(suspect.addresses))
            report.counts["repaired" if is_right else "unrepaired"] += 1


def _differs(examination: _Examination | None) -> bool:
    return examination is not None and bool(examination.differences.found)
