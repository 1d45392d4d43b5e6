"""Judges suspects: looks at each fact itself, and again after a pause, before anything counts as a difference.

The pause is for claims whose rows are on their way at that moment. When hundreds of facts are wrong there is no doubt
left, and no more pauses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from shared.pipeline.concurrency import all_of
from shared.verification.findings import differences_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from shared.pipeline.concurrency import RunAll
    from shared.verification.examine import Examined, Examiner
    from shared.verification.findings import DifferenceKind, Differences
    from shared.verification.repair import Repairer
    from shared.verification.report import DifferenceReport
    from shared.verification.suspects import Suspect

_DOUBTED_MAX: Final = 2000

# What a repair does something about; rows that are hidden are no difference, only of no use.
Repaired: TypeAlias = "DifferenceKind | Literal['masked']"
REPAIRED: Final[frozenset[Repaired]] = frozenset({"missing", "stale", "ghost", "unapplied", "masked"})
# Apart, because a container that was emptied by mistake would empty every index.
RECONCILED: Final[frozenset[Repaired]] = frozenset({"orphan"})


@dataclass(frozen=True, slots=True)
class GracePeriod:
    """Changes younger than `grace_seconds` may be on their way; rows of a claim come within `pause_seconds`."""

    grace_seconds: float
    pause_seconds: float
    sleep: Callable[[float], Awaitable[None]]


class _Look(NamedTuple):
    examined: Examined
    findings: Differences


class Judge:
    """Judges facts of one generation. `run_all` is not the examiner's own: judging runs examinations."""

    def __init__(
        self,
        examiner: Examiner,
        grace_period: GracePeriod,
        run_all: RunAll,
        now_seconds: Callable[[], float],
        repairer: Repairer | None = None,
        mends: frozenset[Repaired] = frozenset(),
    ) -> None:
        self._examiner = examiner
        self._repairer = repairer
        self._mends = mends
        self._grace_period = grace_period
        self._run_all = run_all
        self._now_seconds = now_seconds

    async def examine_and_repair(self, suspects: Sequence[Suspect], report: DifferenceReport) -> None:
        """Note what is wrong with these facts, and mend it if that is asked for."""
        looked = await self._look(suspects)
        report.counts["examined"] += len(suspects)
        doubtful = [suspect for suspect, look in zip(suspects, looked, strict=True) if look and look[1].differences]
        if doubtful and report.total < _DOUBTED_MAX:
            await self._grace_period.sleep(self._grace_period.pause_seconds)
            again = iter(await self._look(doubtful))
            looked = [next(again) if look and look[1].differences else look for look in looked]
        for suspect, look in zip(suspects, looked, strict=True):
            if look is None:
                report.counts["behind"] += 1
            else:
                await self._note(suspect, *look, report)

    async def _look(self, suspects: Sequence[Suspect]) -> list[_Look | None]:
        return await all_of(self._run_all, [partial(self._examine, suspect) for suspect in suspects])

    async def _examine(self, suspect: Suspect) -> _Look | None:
        """None for a fact that changes all the time: whoever changes it sees to its entries."""
        examined = await self._examiner.examine(suspect.who, sorted(suspect.keys))
        if examined is None:
            return None
        recent_after_seconds = self._now_seconds() - self._grace_period.grace_seconds
        return _Look(examined, differences_of(examined, recent_after_seconds))

    async def _note(
        self, suspect: Suspect, examined: Examined, findings: Differences, report: DifferenceReport
    ) -> None:
        counted = [finding for finding in findings.differences if suspect.answers_for(finding)]
        for finding in counted:
            report.note(examined.who, finding)
        if "facts" in suspect.scans and findings.standing in ("behind", "failed"):
            report.counts["behind" if findings.standing == "behind" else "deadLetters"] += 1
        wrong: set[Repaired] = {finding.kind for finding in findings.differences}
        if findings.masked:
            wrong.add("masked")
        if self._repairer is not None and wrong & self._mends:
            is_right = await self._repairer.repair(examined.who, sorted(suspect.keys))
            report.counts["repaired" if is_right else "unrepaired"] += 1
