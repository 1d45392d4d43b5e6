"""A Table service that is busy, broken, silent or talks nonsense: what is tried again, what callers learn."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import orjson
import pytest

from local.process.ports import any_free
from local.run.azurite import ACCOUNT, ACCOUNT_KEY
from shared.errors import (
    OperationFailedError,
    RequestRefusedError,
    StorageUnavailableError,
    ThrottledError,
    TransientError,
)
from shared.tables.client import TableClient
from shared.tables.port import Insert, RowRange
from shared.tables.retry import RetryPolicy, Timing
from shared.tables.wire.account import Account
from shared.tables.wire.transport import Wire
from tests.contract.tables.misbehaving import (
    DROPPED,
    ETAG,
    SILENT,
    WRITTEN,
    Reply,
    Script,
    batch_reply,
    failed_operation,
    half_of,
    kept_open,
    misbehaving_service,
    refused,
    reply,
)

POLICY = RetryPolicy(
    attempts=3, budget_seconds=60, first_wait_seconds=1, longest_wait_seconds=10, waits_out_throttles=False
)
INSERT = [Insert({"PartitionKey": "p", "RowKey": "r"})]
PROXY_PAGE = b"<html>It works!</html>"


@dataclass
class SteppedTime:
    """Time that passes only by sleeping."""

    seconds: float = 0
    waits: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        self.waits.append(seconds)
        self.seconds += seconds

    def timing(self) -> Timing:
        """The parameters of a client that lives in this time; chance always says one half."""
        return Timing(time.time, lambda: self.seconds, self.sleep, lambda: 0.5)


@pytest.fixture
def clock() -> SteppedTime:
    """Time of the test's own."""
    return SteppedTime()


def client_of(script: Script, clock: SteppedTime) -> TableClient:
    """A client that is about to meet the script."""
    account = Account(ACCOUNT, f"http://127.0.0.1:{script.port}/{ACCOUNT}", key=ACCOUNT_KEY)
    # Only silence is waited for, by every probe; everything else gets all the time that a slow machine may need.
    seconds, policy = (0.4, replace(POLICY, budget_seconds=10)) if SILENT in script.replies else (20, POLICY)
    return TableClient(account, clock.timing(), policy=policy, wire=Wire(answer_seconds=seconds))


async def insert_into(clock: SteppedTime, *replies: Reply) -> tuple[str | None, ...]:
    """What a transaction gives when its attempts get these answers."""
    async with misbehaving_service(*replies) as script, client_of(script, clock) as client:
        try:
            return await client.transact("things", INSERT)
        finally:
            assert client.counts.by_table_and_kind() == {("things", "transact"): script.requests}


async def failure_after(clock: SteppedTime, *replies: Reply) -> StorageUnavailableError:
    """The error that ends the attempts of a transaction that gets these answers."""
    with pytest.raises(StorageUnavailableError) as caught:
        await insert_into(clock, *replies)
    assert isinstance(caught.value, TransientError)
    # Silence opens the breaker, whose probes are not counted as tries.
    assert caught.value.attempts == POLICY.attempts or SILENT in replies
    return caught.value


UNCLEAR = [
    pytest.param(refused(500, "InternalError"), id="500"),
    pytest.param(reply(503, PROXY_PAGE), id="503 of a proxy"),
    pytest.param(reply(502), id="502"),
    pytest.param(reply(504), id="504"),
    pytest.param(refused(408, "RequestTimeout"), id="408"),
    pytest.param(DROPPED, id="dropped"),
    pytest.param(SILENT, id="silent"),
    pytest.param(half_of(WRITTEN), id="half written"),
    pytest.param(reply(202, PROXY_PAGE), id="no batch"),
    pytest.param(reply(202), id="empty batch"),
    pytest.param(batch_reply(), id="batch without parts"),
    pytest.param(batch_reply(b"204 No Content\r\n\r\n"), id="batch without ETag"),
    pytest.param(batch_reply(b"204 No Content\r\n\r\n", b"204 No Content\r\n\r\n"), id="batch with more parts"),
    pytest.param(batch_reply(b"2"), id="batch that breaks off"),
    pytest.param(batch_reply(b"??? What\r\n\r\n"), id="batch with a strange status"),
    pytest.param(failed_operation(409, "EntityAlreadyExists", index=7), id="strange index"),
    pytest.param(Reply(b"SSH-2.0-OpenSSH\r\n\r\n"), id="not http"),
]
REFUSED_WORK = [
    pytest.param(refused(503, "ServerBusy"), id="503"),
    pytest.param(refused(429, "TooManyRequests"), id="429"),
]


@pytest.mark.parametrize("unclear", UNCLEAR)
async def test_without_a_clear_answer_the_outcome_is_unknown(clock: SteppedTime, unclear: Reply) -> None:
    """Attempts are bounded, and the error says that the transaction may have landed."""
    error = await failure_after(clock, unclear)
    assert error.outcome_unknown


@pytest.mark.parametrize("busy", REFUSED_WORK)
async def test_a_busy_service_has_done_nothing(clock: SteppedTime, busy: Reply) -> None:
    """Throttling is an error of its own, after which nothing can have landed."""
    error = await failure_after(clock, busy)
    assert isinstance(error, ThrottledError)
    assert not error.outcome_unknown


async def test_a_patient_call_does_not_count_throttled_attempts(clock: SteppedTime) -> None:
    """Its time is the limit: a throttled account answers again, however many calls it refuses before."""
    busy = [refused(429, "TooManyRequests")] * (2 * POLICY.attempts)
    async with misbehaving_service(*busy, WRITTEN) as script:
        account = Account(ACCOUNT, f"http://127.0.0.1:{script.port}/{ACCOUNT}", key=ACCOUNT_KEY)
        async with TableClient(account, clock.timing(), policy=replace(POLICY, waits_out_throttles=True)) as client:
            assert await client.transact("things", INSERT) == (ETAG,)


@pytest.mark.parametrize("trouble", [*UNCLEAR, *REFUSED_WORK])
async def test_a_call_succeeds_when_the_trouble_passes(clock: SteppedTime, trouble: Reply) -> None:
    """The next attempt's answer is the answer."""
    assert await insert_into(clock, trouble, WRITTEN) == (ETAG,)


async def test_a_conflict_after_an_unclear_attempt_is_marked(clock: SteppedTime) -> None:
    """The row that is in the way may be our own: the caller must look before it decides."""
    with pytest.raises(OperationFailedError) as caught:
        await insert_into(clock, DROPPED, refused(503, "ServerBusy"), failed_operation(409, "EntityAlreadyExists"))
    assert (caught.value.index, caught.value.reason, caught.value.resent) == (0, "exists", True)


async def test_a_conflict_after_throttling_is_certain(clock: SteppedTime) -> None:
    """A throttled attempt has not written the row that is in the way."""
    with pytest.raises(OperationFailedError) as caught:
        await insert_into(clock, refused(503, "ServerBusy"), failed_operation(409, "EntityAlreadyExists"))
    assert not caught.value.resent


async def test_one_unclear_attempt_leaves_doubt_to_the_end(clock: SteppedTime) -> None:
    """Throttling afterwards does not take the doubt away."""
    error = await failure_after(clock, DROPPED, refused(503, "ServerBusy"))
    assert isinstance(error, ThrottledError)
    assert error.outcome_unknown


async def test_a_service_that_cannot_be_reached_got_nothing(clock: SteppedTime) -> None:
    """A refused connection is tried again, and leaves no doubt."""
    script = Script([], port=any_free(1)[0])
    async with client_of(script, clock) as client:
        with pytest.raises(StorageUnavailableError, match="cannot be reached") as caught:
            await client.transact("things", INSERT)
    assert not caught.value.outcome_unknown
    assert caught.value.attempts == POLICY.attempts


async def test_waits_grow_and_are_random(clock: SteppedTime) -> None:
    """With chance at one half, the waits are half of 1 and 2 seconds."""
    await failure_after(clock, refused(500, "InternalError"))
    assert clock.waits == [0.5, 1.0]


async def test_the_service_says_how_long_to_wait(clock: SteppedTime) -> None:
    """The random wait comes on top of Retry-After, so that not everybody is back at the same time."""
    assert await insert_into(clock, refused(503, "ServerBusy", "Retry-After: 7"), WRITTEN) == (ETAG,)
    assert clock.waits == [7.5]


async def test_a_wait_longer_than_the_budget_is_not_begun(clock: SteppedTime) -> None:
    """The error comes at once and carries the seconds, for callers that have more time."""
    with pytest.raises(ThrottledError) as caught:
        await insert_into(clock, refused(429, "TooManyRequests", "Retry-After: 100"))
    assert caught.value.retry_after_seconds == 100
    assert clock.waits == []


@pytest.mark.parametrize("answer", [refused(400, "InvalidInput"), refused(403, "AuthenticationFailed"), reply(413)])
async def test_what_the_service_refuses_is_not_tried_again(clock: SteppedTime, answer: Reply) -> None:
    """One attempt, and an error that is not transient."""
    with pytest.raises(RequestRefusedError) as caught:
        await insert_into(clock, answer)
    assert not isinstance(caught.value, TransientError)
    assert clock.waits == []


async def test_a_refused_operation_is_permanent(clock: SteppedTime) -> None:
    """A part of a transaction may be refused for a reason that no caller expects."""
    with pytest.raises(RequestRefusedError, match="400 PropertyNameInvalid"):
        await insert_into(clock, failed_operation(400, "PropertyNameInvalid"))


async def test_an_error_in_xml_is_read_as_well(clock: SteppedTime) -> None:
    """Front ends of the service answer in XML, whatever was asked for."""
    body = b'<?xml version="1.0"?><m:error xmlns:m="x"><m:code>AccountIsDisabled</m:code></m:error>'
    with pytest.raises(RequestRefusedError, match="403 AccountIsDisabled"):
        await insert_into(clock, reply(403, body))


async def test_the_not_found_of_a_proxy_is_no_missing_row(clock: SteppedTime) -> None:
    """Only the service itself can say that a row is not there."""
    async with (
        misbehaving_service(reply(404, PROXY_PAGE)) as script,
        client_of(script, clock) as client,
    ):
        with pytest.raises(RequestRefusedError):
            await client.get("things", "p", "r")


@pytest.mark.parametrize("nonsense", [PROXY_PAGE, b"[]", b"{}", b'{"value":3}', b'{"value":[7]}', b'{"value":[{}]}'])
async def test_nonsense_is_neither_a_row_nor_a_page(clock: SteppedTime, nonsense: bytes) -> None:
    """A success that cannot be read is trouble, and is tried again."""
    async with misbehaving_service(reply(200, nonsense)) as script:
        async with client_of(script, clock) as client:
            with pytest.raises(StorageUnavailableError, match="cannot be read"):
                await client.get("things", "p", "r")
        async with client_of(script, clock) as client:
            with pytest.raises(StorageUnavailableError, match="cannot be read"):
                await client.query("things", RowRange("p"))
    assert script.requests == 2 * POLICY.attempts


async def test_a_table_on_its_way_out_can_be_created_later(clock: SteppedTime) -> None:
    """Azure needs up to a minute to delete a table; its name is free only then."""
    async with (
        misbehaving_service(refused(409, "TableBeingDeleted"), reply(204)) as script,
        client_of(script, clock) as client,
    ):
        assert await client.create_table("things")


async def test_calls_one_after_the_other_share_a_connection(clock: SteppedTime) -> None:
    """A connection is opened once, not for each call."""
    async with misbehaving_service(kept_open(WRITTEN)) as script, client_of(script, clock) as client:
        for _ in range(5):
            await client.transact("things", INSERT)
    assert (script.requests, script.connections) == (5, 1)


async def test_a_pooled_connection_that_breaks_is_replaced(clock: SteppedTime) -> None:
    """The service may close a pooled connection at any time; the call is then sent again on a new one."""
    async with (
        misbehaving_service(kept_open(WRITTEN), DROPPED, WRITTEN) as script,
        client_of(script, clock) as client,
    ):
        assert await client.transact("things", INSERT) == (ETAG,)
        assert await client.transact("things", INSERT) == (ETAG,)
    assert script.connections == 2


def page_of_tables(*names: str, next_table: str | None = None) -> Reply:
    """A page of Query Tables."""
    body = orjson.dumps({"value": [{"TableName": name} for name in names]})
    return reply(200, body, *([] if next_table is None else [f"x-ms-continuation-NextTableName: {next_table}"]))


async def test_tables_are_listed_to_the_last_page(clock: SteppedTime) -> None:
    """Pages may be short or empty; trouble in between is tried again; each request is counted."""
    replies = [
        page_of_tables("thingsp1", next_table="thingsp2"),
        page_of_tables(next_table="thingsp2"),
        refused(503, "ServerBusy"),
        page_of_tables("thingsp2", "other"),
    ]
    async with misbehaving_service(*replies) as script, client_of(script, clock) as client:
        assert await client.list_tables("thingsp") == ("thingsp1", "thingsp2")
        assert client.counts.by_table_and_kind() == {("thingsp", "list"): 4}


@pytest.mark.parametrize("nonsense", [b"", b"[]", b"{}", b'{"value": 1}', b'{"value": [{}]}', PROXY_PAGE])
async def test_nonsense_is_no_list_of_tables(clock: SteppedTime, nonsense: bytes) -> None:
    """An empty list would mean that there are no periods."""
    async with misbehaving_service(reply(200, nonsense)) as script, client_of(script, clock) as client:
        with pytest.raises(StorageUnavailableError, match="cannot be read"):
            await client.list_tables("thingsp")
