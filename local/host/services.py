"""What a trigger gets from its host: settings, `host.json`, the invoker and the request to stop."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from shared.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from local.host.configuration import HostJson
    from local.host.invoker import Invoker
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
