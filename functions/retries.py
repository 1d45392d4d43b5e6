"""The retry policy of every function that applies changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import azure.functions as func

# Short, because the functions themselves wait while storage is down: recovery is at most this late.
SHORTEST_WAIT, LONGEST_WAIT = "00:00:01", "00:00:10"


def retried_for_ever(blueprint: func.Blueprint, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function under this name, tried again until it succeeds.

    After a last retry the triggers would move on and lose the batch, so there is no last retry: every change of a batch
    is applied or becomes a dead letter, or the batch comes again.
    """
    retry = blueprint.retry(
        strategy="exponential_backoff",
        max_retry_count="-1",
        minimum_interval=SHORTEST_WAIT,
        maximum_interval=LONGEST_WAIT,
    )
    registered: Callable[..., Any] = retry(blueprint.function_name(name)(function))
    return registered
