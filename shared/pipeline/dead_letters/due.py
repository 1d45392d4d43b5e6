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
    from shared.pipeline.ledger.rows import LedgerRow
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

    async def put(
        self, source: str, dead_letters: Sequence[tuple[str, DeadLetter]]
    ) -> tuple[dict[str, Exception], int]:
        """Put dead letters, given with their facts; return the facts whose dead letters could not be put, and how many
        were counted instead of kept."""
        if not dead_letters:
            return {}, 0
        result = await self._dead_letters.put_all(source, [dead_letter for _, dead_letter in dead_letters])
        failed = [(fact, result.failures.get(dead_letter.id)) for fact, dead_letter in dead_letters]
        return {fact: error for fact, error in failed if error is not None}, result.not_kept

    async def close_outdated(self, plan: SourcePlan, checks: Sequence[DueCheck]) -> dict[str, Exception]:
        """Close every dead letter that is not due; return the facts where that could not be done."""
        if not checks:
            return {}
        by_fact: dict[str, list[DueCheck]] = {}
        for check in checks:
            by_fact.setdefault(check.fact, []).append(check)
        results = await self._run_all([partial(self._close, plan, of_fact) for of_fact in by_fact.values()])
        outcomes = zip(by_fact, results, strict=True)
        return {fact: result for fact, result in outcomes if isinstance(result, Exception)}

    async def _close(self, plan: SourcePlan, checks: Sequence[DueCheck]) -> None:
        """Close those of one fact. Usually all that were put are due, and one read of the ledger is enough to know."""
        row = await _ledger_row(self._ledger, checks[0]) if any(check.was_put for check in checks) else None
        for check in checks:
            if not (check.was_put and _is_due_in(row, plan, check, check.version)):
                identity = dead_letter_id(plan.source, check.fact, check.index)
                await self._dead_letters.close(plan.source, identity, partial(is_due, self._ledger, plan, check))


async def is_due(ledger: Tables, plan: SourcePlan, check: DueCheck, version: str) -> bool:
    """Whether a generation of the index is at this version, and has failed or is not known to be written. A
    generation that this worker does not know may belong to the index, so it counts.

    The ledger may have forgotten the fact since it was read, because all of its other entries expired long ago. It is
    not deleted for that: only an older version is outdated then.
    """
    return _is_due_in(await _ledger_row(ledger, check), plan, check, version)


async def _ledger_row(ledger: Tables, check: DueCheck) -> LedgerRow | None:
    row = await ledger.get(LEDGER_TABLE, *check.ledger_key)
    return None if row is None else decode(row.entity)


def _is_due_in(row: LedgerRow | None, plan: SourcePlan, check: DueCheck, version: str) -> bool:
    if row is None:
        return version >= check.version
    return any(
        state.failed or not check.has_written(generation, version)
        for generation, state in row.states.items()
        if state.version == version
        and generation not in plan.retired
        and plan.index_of(generation) in (check.index, None)
    )
