"""Which dead letters of a batch are due, and which are outdated: the last step before its facts are finished.

A letter is due while a generation of its index stands at the letter's version, as the ledger says, and has failed
there. Whoever puts one and whoever claims a version of a fact that has failed before looks at the ledger afterwards. Of
two workers that pass each other, the one that looks last sees what the other did: no order of events leaves a letter of
an older version, and none takes away one that is due.

When other code has claimed the very version again without a failure, only who has written its rows may close the
letter: it is the only trace of the change until then.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shared.pipeline.dead_letters.rows import dead_letter_id, dead_letter_of
from shared.pipeline.ledger.rows import LEDGER_TABLE, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.apply.claim_batch import ClaimedChange
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.dead_letters.store import DeadLetterStore
    from shared.tables.port import Tables


class DeadLetterUpdates:
    """Puts the dead letters of a batch and closes those that are outdated."""

    def __init__(self, ledger: Tables, dead_letters: DeadLetterStore, run_all: RunAll) -> None:
        self._ledger = ledger
        self._dead_letters = dead_letters
        self._run_all = run_all

    async def put(self, works: Sequence[ClaimedChange]) -> dict[str, Exception]:
        """A letter for every part that failed; the facts whose letters could not be put."""
        failed = [(work, one) for work in works for one in work.decision.failed]
        letters = [
            dead_letter_of(work.change, one.generation.index.name, *one.failure) for work, one in failed if one.failure
        ]
        results = await self._run_all([partial(self._dead_letters.put, letter) for letter in letters])
        outcomes = zip(failed, results, strict=True)
        return {work.fact: result for (work, _), result in outcomes if isinstance(result, Exception)}

    async def close_outdated(self, plan: SourcePlan, works: Sequence[ClaimedChange]) -> dict[str, Exception]:
        """Close every letter of these facts that is not due; the facts where that could not be done."""
        lettered = [(work, index) for work in works for index in work.decision.lettered]
        if not lettered:
            return {}
        results = await self._run_all([partial(self._close, plan, work, index) for work, index in lettered])
        outcomes = zip(lettered, results, strict=True)
        return {work.fact: result for (work, _), result in outcomes if isinstance(result, Exception)}

    async def _close(self, plan: SourcePlan, work: ClaimedChange, index: str) -> None:
        is_due = partial(self._is_due, plan, work, index)
        was_put = any(one.generation.index.name == index for one in work.decision.failed)
        # Mostly the letter that was put is due: one look at the ledger says so.
        if not (was_put and await is_due(work.change.version)):
            identity = dead_letter_id(plan.source, work.fact, index)
            await self._dead_letters.close(plan.source, identity, is_due)

    async def _is_due(self, plan: SourcePlan, work: ClaimedChange, index: str, version: str) -> bool:
        """Whether a generation of the index stands at the version, and has failed or is not known to be written. One
        that nobody has listed may be of the index."""
        row = await self._ledger.get(LEDGER_TABLE, *work.key)
        if row is None:
            return False
        return any(
            part.failed or not work.has_written(generation, version)
            for generation, part in decode(row.entity).states.items()
            if part.version == version and generation not in plan.retired and plan.index_of(generation) in (index, None)
        )
