"""The retry policy of every function that applies changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import azure.functions as func

# Short, because the functions themselves wait for storage that is down: this is how late recovery is at worst.
SHORTEST_WAIT, LONGEST_WAIT = "00:00:01", "00:00:10"


def retried_for_ever(blueprint: func.Blueprint, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function under this name, tried again until it succeeds.

    After a last retry the triggers would move on and lose the batch, so there is none: a batch is applied, or
    dead-lettered, or comes again.
    """
    retry = blueprint.retry(
        strategy="exponential_backoff",
        max_retry_count="-1",
        minimum_interval=SHORTEST_WAIT,
        maximum_interval=LONGEST_WAIT,
    )
    registered: Callable[..., Any] = retry(blueprint.function_name(name)(function))
    return registered
