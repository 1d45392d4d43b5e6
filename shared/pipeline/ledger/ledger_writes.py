"""Claims: the conditional ledger writes that come before any entry write, many facts in one transaction.

When one operation of a transaction conflicts, the error names it: that fact is set aside and the rest is sent again.
A conflict is never judged here, not even after an attempt without an answer, which may have landed. A worker that loses
a claim reads the row again, and finds there either the claim of another worker or its own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from shared.errors import LimitError, OperationFailedError
from shared.pipeline.ledger.rows import LEDGER_TABLE
from shared.tables.limits import OPERATIONS_MAX
from shared.tables.port import PARTITION_KEY, Insert, Replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shared.pipeline.concurrency import RunAll
    from shared.tables.port import Entity, Operation, Tables

ReadsRest: TypeAlias = "Callable[[int, int], bool]"

# After this many conflicts in one transaction, reading the remaining rows is cheaper than one conflict after another.
_CONFLICTS_MAX: Final = 3


class Claim(NamedTuple):
    """A ledger row to write if it has not changed: it is still absent, or still has this ETag."""

    fact: str
    entity: Entity
    etag: str | None
    # Debts that appear and disappear in the same transaction.
    debts: tuple[Operation, ...] = ()


class Claimed(NamedTuple):
    """What became of claims: the new ETags of claimed facts, and failures. All other facts must be read again."""

    etags: dict[str, str]
    failures: dict[str, Exception]


def never(_absent: int, _left: int) -> bool:
    """Send the rest again, however many there are."""
    return False


async def write_claims(
    tables: Tables, claims: Sequence[Claim], run_all: RunAll, reads_rest: ReadsRest = never
) -> Claimed:
    """Send all claims, grouped by ledger partition. `reads_rest` judges an insert that failed behind so many others:
    whether so many that are left shall be read rather than sent again."""
    groups = list(_groups(claims))
    results = await run_all([partial(_claim_group, tables, group, reads_rest) for group in groups])
    claimed = Claimed({}, {})
    for group, result in zip(groups, results, strict=True):
        if isinstance(result, Exception):
            claimed.failures.update({claim.fact: result for claim in group})
        else:
            claimed.etags.update(result)
    return claimed


def _groups(claims: Sequence[Claim]) -> Iterator[list[Claim]]:
    by_partition: dict[object, list[Claim]] = {}
    for claim in claims:
        by_partition.setdefault(claim.entity[PARTITION_KEY], []).append(claim)
    for together in by_partition.values():
        group: list[Claim] = []
        size = 0
        for claim in together:
            if size + _size(claim) > OPERATIONS_MAX:
                yield group
                group, size = [], 0
            group.append(claim)
            size += _size(claim)
        yield group


def _size(claim: Claim) -> int:
    return 1 + len(claim.debts)


async def _claim_group(tables: Tables, group: Sequence[Claim], reads_rest: ReadsRest) -> dict[str, str]:
    """The new ETags of the facts that were claimed; the others lost their claim or were not tried."""
    claims = list(group)
    for _ in range(_CONFLICTS_MAX):
        try:
            return await _send(tables, claims)
        except LimitError:
            return await _claim_halves(tables, claims, reads_rest)
        except OperationFailedError as error:
            is_insert = error.index < len(claims) and claims[error.index].etag is None
            _leave_out(claims, error.index)
            if not claims or (is_insert and reads_rest(error.index, len(claims))):
                break
    return {}


async def _send(tables: Tables, claims: Sequence[Claim]) -> dict[str, str]:
    """Ledger rows first, so that their ETags are the first of the answer."""
    debts = [operation for claim in claims for operation in claim.debts]
    etags = await tables.transact(LEDGER_TABLE, [*map(_operation, claims), *debts])
    return {claim.fact: str(etag) for claim, etag in zip(claims, etags, strict=False)}


def _leave_out(claims: list[Claim], failed: int) -> None:
    """Leave out the claim that lost. A debt that is gone already is no reason to lose."""
    if failed < len(claims):
        del claims[failed]
        return
    owners = [(position, debt) for position, claim in enumerate(claims) for debt in claim.debts]
    position, debt = owners[failed - len(claims)]
    rest = tuple([other for other in claims[position].debts if other is not debt])
    claims[position] = claims[position]._replace(debts=rest)


async def _claim_halves(tables: Tables, claims: Sequence[Claim], reads_rest: ReadsRest) -> dict[str, str]:
    """Together the claims are over 4 MiB. One row alone is far below: its size is checked before it is claimed."""
    if len(claims) == 1:
        raise LimitError("A ledger row is over the limits of the Table service; report this.")
    middle = len(claims) // 2
    first = await _claim_group(tables, claims[:middle], reads_rest)
    return {**first, **await _claim_group(tables, claims[middle:], reads_rest)}


def _operation(claim: Claim) -> Insert | Replace:
    return Insert(claim.entity) if claim.etag is None else Replace(claim.entity, claim.etag)
