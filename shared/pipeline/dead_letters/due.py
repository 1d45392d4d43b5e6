"""Which dead letters of a batch are due, and which are outdated: the last step before its facts are finished.

A dead letter is due while the ledger says that a generation of its index is at the dead letter's version and has failed
there. A worker that puts a dead letter reads the ledger after that. So does a worker that claims a version of a fact
that failed before. When two workers overtake each other, the one that reads last sees what the other did. So no order
of events leaves a dead letter of an older version, and none removes a dead letter that is due.

When other code has claimed the same version again without a failure, only a worker that has written the rows of this
version may close the dead letter: until then it is the only trace of the change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from shared.pipeline.dead_letters.rows import dead_letter_id
from shared.pipeline.ledger.rows import LEDGER_TABLE, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.dead_letters.rows import DeadLetter
    from shared.pipeline.dead_letters.store import DeadLetterStore
    from shared.tables.port import Tables


@dataclass(frozen=True, slots=True)
class DueCheck:
    """A fact that may have a dead letter in an index, which may be due or not.

    `has_written` says whether all entries of a version are written to a generation; False when unknown.
    """

    fact: str
    ledger_key: tuple[str, str]
    version: str
    index: str
    was_put: bool
    has_written: Callable[[str, str], bool]


class DeadLetterUpdates:
    """Puts the dead letters of a batch and closes those that are outdated."""

    def __init__(self, ledger: Tables, dead_letters: DeadLetterStore, run_all: RunAll) -> None:
        self._ledger = ledger
        self._dead_letters = dead_letters
        self._run_all = run_all

    async def put(self, dead_letters: Sequence[tuple[str, DeadLetter]]) -> dict[str, Exception]:
        """Put dead letters, given with their facts; return the facts whose dead letters could not be put."""
        results = await self._run_all([partial(self._dead_letters.put, dead_letter) for _, dead_letter in dead_letters])
        outcomes = zip(dead_letters, results, strict=True)
        return {fact: result for (fact, _), result in outcomes if isinstance(result, Exception)}

    async def close_outdated(self, plan: SourcePlan, checks: Sequence[DueCheck]) -> dict[str, Exception]:
        """Close every dead letter that is not due; return the facts where that could not be done."""
        if not checks:
            return {}
        results = await self._run_all([partial(self._close, plan, check) for check in checks])
        outcomes = zip(checks, results, strict=True)
        return {check.fact: result for check, result in outcomes if isinstance(result, Exception)}

    async def _close(self, plan: SourcePlan, check: DueCheck) -> None:
        is_due = partial(self._is_due, plan, check)
        # Usually the dead letter that was put is due, and one read of the ledger is enough to know.
        if not (check.was_put and await is_due(check.version)):
            identity = dead_letter_id(plan.source, check.fact, check.index)
            await self._dead_letters.close(plan.source, identity, is_due)

    async def _is_due(self, plan: SourcePlan, check: DueCheck, version: str) -> bool:
        """Whether a generation of the index is at this version, and has failed or is not known to be written. A
        generation that this worker does not know may belong to the index, so it counts."""
        row = await self._ledger.get(LEDGER_TABLE, *check.ledger_key)
        if row is None:
            return False
        return any(
            state.failed or not check.has_written(generation, version)
            for generation, state in decode(row.entity).states.items()
            if state.version == version
            and generation not in plan.retired
            and plan.index_of(generation) in (check.index, None)
        )
