"""The seam between the host and its listening triggers: what they get, what they do, which kinds there are."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from local.process.errors import LocalRunError
from shared.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from local.host.configuration import HostJson
    from local.host.invoker import Invoker
    from local.host.runtime import Function
    from local.process.lifeline import Stop

# How the storage clients of triggers try again, as arguments of the SDK: once, after a second. Triggers go on trying by
# themselves; with the SDK's 15 seconds and more a host whose storage is gone would be slow to end.
STORAGE_RETRIES: Final[Mapping[str, Any]] = MappingProxyType(
    {"retry_total": 1, "initial_backoff": 0, "increment_base": 1, "random_jitter_range": 0}
)


@dataclass(frozen=True, slots=True)
class HostServices:
    """What a trigger may use."""

    settings: Mapping[str, str]
    host_json: HostJson
    invoker: Invoker
    stop: Stop

    def connection_string(self, name: str) -> str:
        """The connection string in the app setting `name`."""
        try:
            return self.settings[name]
        except KeyError:
            raise SettingError(
                f"There is no app setting {name}: the local host needs a connection string there."
            ) from None


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
            from local.host.timers import TimerTrigger

            return TimerTrigger(function, services)
        case "queueTrigger":
            from local.host.queues import QueueTrigger

            return QueueTrigger(function, services)
        case "cosmosDBTrigger":
            from local.host.cosmos.trigger import CosmosTrigger

            return CosmosTrigger(function, services)
        case "eventHubTrigger":
            from local.host.events import EventHubTrigger

            return EventHubTrigger(function, services)
        case other:
            raise LocalRunError(
                f"Function {function.name} has a {other}, which the local host does not run; "
                "remove it or run the app with `python -m local up --host func`."
            )
