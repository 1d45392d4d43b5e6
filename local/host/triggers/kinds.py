"""Which kinds of triggers the host listens on, and what it asks of each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from local.host.runtime import Function
    from local.host.services import HostServices


class Trigger(Protocol):
    """A source of invocations of one function."""

    async def prepare(self) -> None:
        """Do what must be done before the app counts as ready."""

    async def listen(self) -> None:
        """Invoke the function as its source says, until the host stops."""


def trigger_for(function: Function, services: HostServices) -> Trigger:
    """The listening trigger of `function`; its SDK is imported only when an app uses it."""
    match function.trigger_type:
        case "timerTrigger":
            from local.host.triggers.timers import TimerTrigger

            return TimerTrigger(function, services)
        case "queueTrigger":
            from local.host.triggers.queues import QueueTrigger

            return QueueTrigger(function, services)
        case "cosmosDBTrigger":
            from local.host.triggers.cosmos.trigger import CosmosTrigger

            return CosmosTrigger(function, services)
        case "eventHubTrigger":
            from local.host.triggers.event_hubs import EventHubTrigger

            return EventHubTrigger(function, services)
        case other:
            raise LocalRunError(
                f"Function {function.name} has a {other}, which the local host does not run; "
                'remove it or run the app with "python -m local up --host func".'
            )
