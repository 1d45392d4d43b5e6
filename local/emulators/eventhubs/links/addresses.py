"""Link addresses: which node of the namespace a client wants to reach."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from local.emulators.eventhubs.amqp.errors import EntityNotFoundError
from local.emulators.eventhubs.log.hubs import DEFAULT_GROUP

CBS = "$cbs"
MANAGEMENT = "$management"

_HUB_PATH = re.compile(
    r"(?P<hub>[^/]+)(?:/ConsumerGroups/(?P<group>[^/]+))?(?:/Partitions/(?P<partition>[^/]+))?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class HubAddress:
    """A hub, or a partition of it as a consumer group sees it."""

    hub: str
    group: str
    partition: str | None


def path_of(address: object) -> str:
    """The path in an address; Python sends a whole URI, JavaScript the path alone."""
    text = address if isinstance(address, str) else ""
    return unquote(urlsplit(text).path if "://" in text else text).strip("/")


def is_node(path: str, name: str) -> bool:
    """Whether a path names `$cbs` or `$management`, of the namespace or of a hub."""
    return path.rpartition("/")[2].lower() == name


def hub_address(path: str) -> HubAddress:
    """The parts of a path that names a hub."""
    match = _HUB_PATH.fullmatch(path)
    if match is None:
        raise EntityNotFoundError(path, "An address is HUB[/ConsumerGroups/GROUP][/Partitions/N].")
    return HubAddress(match["hub"], match["group"] or DEFAULT_GROUP, match["partition"])
