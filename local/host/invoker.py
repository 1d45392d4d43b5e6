"""Calling functions the way the host does: time limit, retry policy, log lines, stop in between."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import random
import time
from typing import TYPE_CHECKING

from local.host.errors import FunctionTimedOutError, HostStoppingError

if TYPE_CHECKING:
    from local.host.runtime import CallOutcome, Function, Invocation, Runtime
    from local.process.lifeline import Stop

log = logging.getLogger("host")


class Invoker:
    """Calls functions of one runtime.

    A function that runs over its time stops the host, which then starts again: a thread cannot be ended, so Azure
    starts a new worker process.
    """

    def __init__(self, runtime: Runtime, timeout_seconds: float | None, stop: Stop) -> None:
        self._runtime = runtime
        self._timeout_seconds = timeout_seconds
        self._stop = stop
        self.timed_out = False

    async def call(self, function: Function, invocation: Invocation) -> CallOutcome:
        """Call once and log how it went."""
        started = time.perf_counter()
        outcome = await self._call_within_timeout(function, invocation)
        duration_ms = (time.perf_counter() - started) * 1000
        if outcome.failure is None:
            log.debug("Executed %s in %.0f ms", function.name, duration_ms)
        else:
            log.error(
                "Failed %s after %.0f ms: %s\n%s",
                function.name,
                duration_ms,
                outcome.failure,
                outcome.stack_trace.rstrip(),
            )
        return outcome

    async def call_with_retries(self, function: Function, invocation: Invocation) -> CallOutcome:
        """Call, and again as the function's retry policy says; the outcome is that of the last try.

        Raises `HostStoppingError` when the host stops before the last try.
        """
        retry_count, policy = 0, function.retry
        if policy is not None:
            invocation = dataclasses.replace(invocation, max_retry_count=policy.max_retry_count)
        while True:
            outcome = await self.call(function, invocation)
            if outcome.failure is None or policy is None or not policy.allows(retry_count):
                return outcome
            wait_seconds = policy.wait_seconds(retry_count, random.random)
            retry_count += 1
            log.warning("Retrying %s in %.1f s (retry %d)", function.name, wait_seconds, retry_count)
            if await self._stop.sleep(wait_seconds):
                raise HostStoppingError(f"{function.name} failed and was not tried again: {outcome.failure}")
            invocation = dataclasses.replace(invocation, retry_count=retry_count, previous_failure=outcome.failure)

    async def _call_within_timeout(self, function: Function, invocation: Invocation) -> CallOutcome:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._runtime.call(function, invocation)
        except TimeoutError:
            message = f"{function.name} ran longer than functionTimeout ({self._timeout_seconds:g} s)."
            log.critical("%s The host starts again, as the worker in Azure does.", message)
            self.timed_out = True
            self._stop.request()
            raise FunctionTimedOutError(message) from None
