"""What follows the writes of a batch: shares that could not be written are owed from now on, and written ones no more.

Both are one conditional write of the ledger row, under the ETag that the writes belong to. If another worker has
changed the row, this one knows nothing any more: the change is looked at again. While every account answers and nothing
is owed there is nothing to write.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from shared.pipeline.ledger.cache import KnownRow
from shared.pipeline.ledger.debts import debt_changes
from shared.pipeline.ledger.ledger_writes import Claim, write_claims
from shared.pipeline.ledger.rows import GenerationState, LedgerRow, OwedShare, encode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from shared.pipeline.apply.claimed import ClaimedChange
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.entry_writes.writes import GenerationWrites
    from shared.pipeline.ledger.cache import LedgerCache
    from shared.tables.port import Tables


@dataclass(slots=True)
class Settled:
    """The changes that another worker has overtaken, and the facts whose ledger rows could not be written."""

    lost: list[ClaimedChange] = field(default_factory=list)
    failures: dict[str, Exception] = field(default_factory=dict)


async def settle_debts(
    ledger: Tables,
    cache: LedgerCache,
    run_all: RunAll,
    works: Iterable[ClaimedChange],
    unwritten: Collection[tuple[str, str]],
    now_seconds: int,
) -> Settled:
    """Note what is owed after the writes; `unwritten` are the facts whose writes to an account failed."""
    wanted = [(work, row) for work in works if (row := _settled_row(work, unwritten, now_seconds)) != work.row]
    if not wanted:
        return Settled()
    claims = [
        Claim(work.fact, encode(row, *work.key), work.etag, debt_changes(work.key, work.row, row, work.change))
        for work, row in wanted
    ]
    written = await write_claims(ledger, claims, run_all)
    settled = Settled(failures=written.failures)
    for work, row in wanted:
        etag = written.etags.get(work.fact)
        if etag is not None:
            cache.put(work.key, KnownRow(row, etag, work.decision.still_finished))
            work.settle(row, etag)
        else:
            cache.forget(work.key)
            if work.fact not in written.failures:
                settled.lost.append(work)
    return settled


def _settled_row(work: ClaimedChange, unwritten: Collection[tuple[str, str]], now_seconds: int) -> LedgerRow:
    row = work.row
    if not unwritten and not row.debts:
        return row
    states = dict(row.states)
    for writes in work.decision.writes:
        state = states[writes.generation.id]
        others = tuple([share for share in state.owed if share.account != writes.account])
        if (work.fact, writes.account) in unwritten:
            states[writes.generation.id] = _owing(state, writes.account, now_seconds)
        elif _is_paid(writes, state):
            states[writes.generation.id] = replace(state, owed=others)
    return row if states == row.states else replace(row, states=states)


def _owing(state: GenerationState, account: str, now_seconds: int) -> GenerationState:
    if any(share.account == account for share in state.owed):
        return state
    return replace(state, owed=(*state.owed, OwedShare(account, state.version, state.failed, now_seconds)))


def _is_paid(writes: GenerationWrites, state: GenerationState) -> bool:
    """Whether what was owed is as it should be now. What a failed generation lacks is the matter of its dead letter; a
    share that alone has failed waits for code that can project it."""
    return any(
        state.failed or (writes.is_whole and not share.failed)
        for share in state.owed
        if share.account == writes.account
    )
