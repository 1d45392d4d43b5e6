"""Calls of a batch to several accounts: patience with each of them, and none with one that is known to be down."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.errors import StorageUnavailableError, TableMissingError
from shared.pipeline.account_calls import AccountLanes
from shared.pipeline.concurrency import AtOnce

# Long enough for what answers at once.
PATIENCE_SECONDS = 0.05


async def hang() -> str:
    """A call that is never answered."""
    await asyncio.Event().wait()
    return "answered"


async def answer() -> str:
    """A call that is answered at once."""
    return "answered"


async def fail(error: Exception) -> str:
    """A call that fails."""
    raise error


class Lanes(AccountLanes):
    """With what a process knows and hears."""

    def __init__(self, *down: str) -> None:
        self.silent: list[str] = []
        super().__init__(AtOnce(), time.monotonic, lambda name: name in down, self.silent.append, PATIENCE_SECONDS)


async def test_an_account_that_hangs_is_given_up_and_the_others_have_answered() -> None:
    """Its calls may have landed."""
    lanes = Lanes()
    calls = lanes.new_calls(["X", "Y"])
    silent, main, other = await calls([("X", hang), (DEFAULT_ACCOUNT, answer), ("Y", answer)])
    assert (main, other) == ("answered", "answered")
    assert isinstance(silent, StorageUnavailableError)
    assert silent.outcome_unknown
    assert (lanes.silent, calls.down) == (["X"], {"X"})


async def test_an_account_that_failed_is_not_called_again_in_this_batch() -> None:
    """The next batch asks it again, unless the process knows better."""
    lanes = Lanes()
    calls = lanes.new_calls(["X"])
    error = StorageUnavailableError("Down.", outcome_unknown=False)
    await calls([("X", partial(fail, error))])
    (result,) = await calls([("X", answer)])
    assert isinstance(result, StorageUnavailableError)
    assert not result.outcome_unknown
    assert await lanes.new_calls(["X"])([("X", answer)]) == ["answered"]


async def test_an_account_that_is_known_to_be_down_is_not_called() -> None:
    """Nothing waits for it."""
    (result,) = await Lanes("X").new_calls(["X"])([("X", hang)])
    assert isinstance(result, StorageUnavailableError)


async def test_a_missing_table_is_no_outage() -> None:
    """It is made, and the batch comes again."""
    calls = Lanes().new_calls(["X"])
    await calls([("X", partial(fail, TableMissingError("It is not there.")))])
    assert calls.down == set()


async def test_an_account_that_is_busy_with_another_batch_is_not_silent() -> None:
    """Its answers to others count, but not for ever."""
    lanes = Lanes()
    busy = True

    async def other_batches() -> None:
        while busy:
            await lanes.new_calls(["X"])([("X", answer)])
            await asyncio.sleep(0)

    others = asyncio.create_task(other_batches())
    began = time.monotonic()
    (result,) = await lanes.new_calls(["X"])([("X", hang)])
    busy = False
    await others
    assert isinstance(result, StorageUnavailableError)
    assert time.monotonic() - began >= 5 * PATIENCE_SECONDS
