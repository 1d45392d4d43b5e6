"""Calls to several storage accounts during one batch: one account that does not answer must not hold up the others.

An account that fails once is taken for dead for the rest of the batch. So is one that the process knows to be down. The
main account never is: without ledger and catalog nothing can be done.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.errors import RequestRefusedError, StorageUnavailableError
from shared.pipeline.concurrency import AtOnce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shared.pipeline.concurrency import RunAll, Work

    InAccount: TypeAlias = tuple[str, Work["T"]]

T = TypeVar("T")

# How long a batch waits for an account that gives no answer; so many times as long for one that answers now and then.
PATIENCE_SECONDS: Final = 1.5
# Longer than a call is tried.
PATIENCE_BESIDE_SECONDS: Final = 120.0
_LONGEST: Final = 10


def can_wait(account: str, error: Exception) -> bool:
    """Whether writes that failed with this error may be done later: another account goes on without this one."""
    return account != DEFAULT_ACCOUNT and isinstance(error, (StorageUnavailableError, RequestRefusedError))


class AccountCalls:
    """The calls of one batch. Every account has its own patience."""

    def __init__(self, lane_of: Callable[[str], RunAll], down: Iterable[str] = (), run: RunAll | None = None) -> None:
        """With `run`, all calls go through it, in whatever account."""
        self.down = {account for account in down if account != DEFAULT_ACCOUNT}
        self._lane_of = lane_of
        self._run = run

    async def __call__(self, work: Sequence[InAccount[T]]) -> list[T | Exception]:
        """The result of each piece of work, or what it raised. What an account that is down should do is not tried."""
        lanes: dict[str, list[int]] = {}
        results: dict[int, T | Exception] = {}
        for position, (account, _) in enumerate(work):
            if account in self.down:
                results[position] = _not_sent(account)
            else:
                lanes.setdefault("" if self._run else account, []).append(position)
        pieces = [[work[position][1] for position in positions] for positions in lanes.values()]
        for positions, answers in zip(lanes.values(), await self._all(lanes, pieces), strict=True):
            for position, answer in zip(positions, answers, strict=True):
                results[position] = answer
                account = work[position][0]
                if isinstance(answer, Exception) and can_wait(account, answer):
                    self.down.add(account)
        return [results[position] for position in range(len(work))]

    def only_in(self, account: str) -> RunAll:
        """The calls to one account, as a runner."""

        async def run(work: Sequence[Work[T]]) -> list[T | Exception]:
            return await self([(account, piece) for piece in work])

        return run

    async def _all(self, lanes: Iterable[str], pieces: Sequence[Sequence[Work[T]]]) -> list[list[T | Exception]]:
        if self._run is not None:
            return [await self._run(together) for together in pieces]
        return await asyncio.gather(
            *[self._lane_of(account)(together) for account, together in zip(lanes, pieces, strict=True)]
        )


NewCalls: TypeAlias = "Callable[[Iterable[str]], AccountCalls]"


def calls_by(run_all: RunAll, down: Iterable[str] = ()) -> AccountCalls:
    """Calls that all go through one runner."""
    return AccountCalls(lambda _: run_all, down, run=run_all)


def _not_sent(account: str) -> StorageUnavailableError:
    return StorageUnavailableError(
        f"The storage account {account} does not answer, so this call was not sent.", outcome_unknown=False
    )


class AccountLanes:
    """Makes the calls of each batch of a process."""

    def __init__(
        self,
        run_main: RunAll,
        steady_seconds: Callable[[], float],
        is_down: Callable[[str], bool] = lambda _: False,
        note_silence: Callable[[str], None] = lambda _: None,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self.steady_seconds = steady_seconds
        self.note_silence = note_silence
        self.patience_seconds = patience_seconds
        # When each account last gave an answer, to whatever batch: one that is busy with others is not silent.
        self.answered_at: dict[str, float] = {}
        self._run_main = run_main
        self._is_down = is_down

    def patiently(self) -> AccountLanes:
        """The same for work beside the feed, which waits for its budget and for permits within a call."""
        return AccountLanes(
            self._run_main, self.steady_seconds, self._is_down, patience_seconds=PATIENCE_BESIDE_SECONDS
        )

    def new_calls(self, accounts: Iterable[str]) -> AccountCalls:
        """The calls of a batch that may need these accounts."""
        patient: dict[str, RunAll] = {DEFAULT_ACCOUNT: self._run_main}

        def lane_of(account: str) -> RunAll:
            if account not in patient:
                patient[account] = _PatientLane(account, self)
            return patient[account]

        return AccountCalls(lane_of, [account for account in accounts if self._is_down(account)])


class _PatientLane(AtOnce):
    """Calls to one account, which are given up when it has not answered any of them for too long."""

    def __init__(self, account: str, lanes: AccountLanes) -> None:
        self._account = account
        self._lanes = lanes
        self._ends_at: float | None = None

    async def __call__(self, work: Sequence[Work[T]]) -> list[T | Exception]:
        """The results, in the order of the work."""
        lanes, steady_seconds = self._lanes, self._lanes.steady_seconds
        began_at, patience = steady_seconds(), lanes.patience_seconds
        if self._ends_at is None:
            self._ends_at = began_at + _LONGEST * patience
        tasks = [asyncio.ensure_future(self._run(piece)) for piece in work]
        waiting = set(tasks)
        try:
            while waiting:
                answered_at = max(began_at, lanes.answered_at.get(self._account, began_at))
                left_seconds = min(answered_at + patience, self._ends_at) - steady_seconds()
                done, waiting = await asyncio.wait(
                    waiting, timeout=max(0, left_seconds), return_when=asyncio.FIRST_COMPLETED
                )
                if any(not isinstance(task.result(), StorageUnavailableError) for task in done):
                    lanes.answered_at[self._account] = steady_seconds()
                elif not done and left_seconds <= 0:
                    lanes.note_silence(self._account)
                    break
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        return [self._silence() if task in waiting else task.result() for task in tasks]

    def _silence(self) -> StorageUnavailableError:
        return StorageUnavailableError(
            f"The storage account {self._account} gave no answer in {self._lanes.patience_seconds:g} s.",
            outcome_unknown=True,
        )
