"""Storage that is down: few requests go out, calls fail fast once it is known, and go on as soon as it answers."""

from __future__ import annotations

import asyncio
import time

import pytest

from local.process.ports import any_free
from local.run.azurite import ACCOUNT, ACCOUNT_KEY
from shared.errors import StorageUnavailableError, TableLeavingError
from shared.tables.availability import wait_until_available
from shared.tables.breaker import FAILURES_MAX, Breaker
from shared.tables.client import TableClient
from shared.tables.port import Insert
from shared.tables.retry import RetryPolicy, Timing
from shared.tables.wire.account import Account
from shared.tables.wire.transport import Wire
from tests.contract.tables.misbehaving import (
    DROPPED,
    ETAG,
    SILENT,
    WRITTEN,
    Reply,
    error_body,
    misbehaving_service,
    refused,
    reply,
)

INSERT = [Insert({"PartitionKey": "p", "RowKey": "r"})]
MISSING = error_body("ResourceNotFound", "Gone.")
AT_ONCE = 40
PATIENT = RetryPolicy(first_wait_seconds=0.02, longest_wait_seconds=0.1)
HASTY = RetryPolicy(attempts=3, budget_seconds=8, first_wait_seconds=0.02, open_seconds=0)
OUTAGES = [
    pytest.param(refused(500, "InternalError"), id="500"),
    pytest.param(refused(503, "ServerBusy"), id="503"),
    pytest.param(reply(504), id="504"),
    pytest.param(DROPPED, id="dropped"),
    pytest.param(SILENT, id="silent"),
]


class JumpingClock:
    """A wall clock that jumps an hour back and forth with every look."""

    def __init__(self) -> None:
        self._looks = 0

    def __call__(self) -> float:
        self._looks += 1
        return time.time() + (3600 if self._looks % 2 else -3600)


def client_at(
    port: int,
    policy: RetryPolicy,
    breaker: Breaker,
    wall: JumpingClock | None = None,
    answer_seconds: float = 20,
) -> TableClient:
    """A client in real time."""
    timing = Timing(wall or time.time, time.monotonic, asyncio.sleep, lambda: 0.5)
    account = Account(ACCOUNT, f"http://127.0.0.1:{port}/{ACCOUNT}", key=ACCOUNT_KEY)
    return TableClient(account, timing, policy=policy, breaker=breaker, wire=Wire(answer_seconds=answer_seconds))


async def opened(port: int) -> Breaker:
    """The breaker of an account after enough calls that were tried once."""
    breaker = Breaker()
    async with client_at(port, RetryPolicy(attempts=1, waits_out_throttles=False), breaker) as client:
        for _ in range(FAILURES_MAX):
            with pytest.raises(StorageUnavailableError):
                await client.transact("things", INSERT)
    assert breaker.state == "open"
    return breaker


@pytest.mark.parametrize("outage", OUTAGES)
async def test_calls_that_wait_go_on_when_storage_answers(outage: Reply) -> None:
    """Forty calls at once meet an outage of every kind; none of them fails, and few requests go out meanwhile."""
    breaker = Breaker()
    failures = AT_ONCE + 3
    # Only silence is waited for; everything else gets all the time that a slow machine may need.
    silence_seconds = 0.5 if outage is SILENT else 20
    async with (
        misbehaving_service(*[outage] * failures, WRITTEN) as script,
        client_at(script.port, PATIENT, breaker, JumpingClock(), silence_seconds) as client,
    ):
        results = await asyncio.gather(*[client.transact("things", INSERT) for _ in range(AT_ONCE)])
    assert results == [(ETAG,)] * AT_ONCE
    assert breaker.state == "closed"
    assert breaker.last_outage_seconds is not None
    # Those that were on their way, the probes, and each call once more. A slow machine may seem silent, too.
    assert script.requests <= failures + AT_ONCE * (3 if outage is SILENT else 1)


async def test_a_dead_account_costs_few_requests() -> None:
    """No server listens: calls that begin then fail together after a short wait, with a handful of probes a second."""
    (port,) = any_free(1)
    async with client_at(port, RetryPolicy(open_seconds=1.0), await opened(port)) as client:
        began = time.monotonic()
        results = await asyncio.gather(
            *[client.transact("things", INSERT) for _ in range(AT_ONCE)], return_exceptions=True
        )
        assert time.monotonic() - began < RetryPolicy().budget_seconds / 2
    assert all(isinstance(result, StorageUnavailableError) for result in results)
    assert client.counts.total() <= 4
    not_sent = [result for result in results if "not sent" in str(result)]
    assert len(not_sent) >= AT_ONCE - 4
    assert all(isinstance(error, StorageUnavailableError) and not error.outcome_unknown for error in not_sent)


async def test_a_call_that_somebody_waits_for_fails_at_once() -> None:
    """A lookup does not wait for an open breaker; at most it is the probe."""
    (port,) = any_free(1)
    async with client_at(port, HASTY, await opened(port)) as client:
        with pytest.raises(StorageUnavailableError, match="was not sent"):
            await client.get("things", "p", "r")
        assert client.counts.total() == 0


async def test_clients_of_an_account_share_its_breaker() -> None:
    """What one has found out the other need not find out again, nor that it is over."""
    async with misbehaving_service(*[refused(500, "InternalError")] * FAILURES_MAX, WRITTEN) as script:
        breaker = await opened(script.port)
        async with client_at(script.port, PATIENT, breaker) as first, client_at(script.port, HASTY, breaker) as second:
            assert await first.transact("things", INSERT) == (ETAG,)
            assert await second.transact("things", INSERT) == (ETAG,)
    assert script.requests == FAILURES_MAX + 2


async def test_a_refusal_is_an_answer() -> None:
    """A table that is still being deleted, however often it is asked for, says nothing against the account."""
    breaker = Breaker()
    policy = RetryPolicy(attempts=2 * FAILURES_MAX, first_wait_seconds=0.001)
    async with (
        misbehaving_service(refused(409, "TableBeingDeleted")) as script,
        client_at(script.port, policy, breaker) as client,
    ):
        with pytest.raises(TableLeavingError):
            await client.create_table("things")
    assert script.requests == 2 * FAILURES_MAX
    assert (breaker.state, breaker.failures) == ("closed", 0)


async def test_waiting_for_an_account_ends_with_the_outage() -> None:
    """A batch that has not begun waits, at the price of the probes."""
    replies = [refused(503, "ServerBusy")] * (FAILURES_MAX + 3)
    async with (
        misbehaving_service(*replies, reply(404, MISSING)) as script,
        client_at(script.port, RetryPolicy(open_seconds=0.5), await opened(script.port)) as client,
    ):
        await wait_until_available(client, 30, time.monotonic)
        assert (client.breaker.state, client.counts.total()) == ("closed", 4)
        await wait_until_available(client, 30, time.monotonic)
        assert client.counts.total() == 4


async def test_waiting_for_an_account_has_an_end() -> None:
    """Then the function raises, and the trigger brings the batch again."""
    (port,) = any_free(1)
    async with client_at(port, RetryPolicy(open_seconds=0.2), await opened(port)) as client:
        with pytest.raises(StorageUnavailableError):
            await wait_until_available(client, 0.5, time.monotonic)
