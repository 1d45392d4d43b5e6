"""The programs of the local run: how each is started, and how one sees that it is ready."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from local.emulators.cosmos.http.options import DEFAULT_PORT as COSMOS_PORT
from local.emulators.eventhubs.options import DEFAULT_PORT as EVENT_HUBS_PORT
from local.host.host import READY_LINE
from local.run import azurite
from shared.sources.hub_events import EVENT_CONSUMER_GROUP, EVENT_LAG_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

# Enough for two hosts to share, few enough that a laptop does not mind.
HUB_PARTITIONS = 4


@dataclass(frozen=True, slots=True)
class Service:
    """A program that listens on loopback.

    It is ready when it prints `ready_line`. A connection to its port would not prove that: on a port that
    was taken in the meantime another program answers.
    """

    name: str
    usual_ports: tuple[int, ...]
    command: Callable[[Sequence[int]], list[str]]
    ready_line: str
    settings: Mapping[str, str] = field(default_factory=dict)
    watches_input: bool = True


def storage(location: Path | None, placements: Sequence[str] = ()) -> Service:
    """Azurite, with its data in `location` or in memory, and an account for each connection that placements name."""
    return Service(
        name="azurite",
        usual_ports=(10000, 10001, 10002),
        command=lambda ports: azurite.command(azurite.StoragePorts(*ports), location),
        ready_line="Azurite Table service is successfully listening",
        settings=azurite.accounts_setting(placements),
    )


def cosmos(data_folder: Path) -> Service:
    """The local Cosmos DB, with its data in the folder."""
    command = [sys.executable, "-m", "local", "cosmos", "--data", str(data_folder), "--watch-stdin"]
    return Service(
        name="cosmos",
        usual_ports=(COSMOS_PORT,),
        command=lambda ports: [*command, "--port", str(ports[0])],
        ready_line="cosmos ready",
    )


def event_hubs(data_folder: Path, hub_names: Sequence[str]) -> Service:
    """The local Event Hubs with these hubs, each with the consumer groups of this app."""
    hubs = [part for name in hub_names for part in ("--hub", f"{name}:{HUB_PARTITIONS}")]
    wanted = (EVENT_CONSUMER_GROUP, EVENT_LAG_GROUP) if hub_names else ()
    groups = [part for name in wanted for part in ("--consumer-group", name)]
    command = [sys.executable, "-m", "local", "eventhubs", "--data", str(data_folder), "--watch-stdin", *hubs, *groups]
    return Service(
        name="eventHubs",
        usual_ports=(EVENT_HUBS_PORT,),
        command=lambda ports: [*command, "--port", str(ports[0])],
        ready_line="Serving hubs",
    )


def function_host(app_folder: Path, settings: Mapping[str, str], checks: Sequence[str] = ()) -> Service:
    """Our own host; `checks` are its arguments that say which callers it lets in."""
    command = [sys.executable, "-m", "local", "host", "--app", str(app_folder), "--watch-stdin", *checks]
    return Service(
        name="host",
        usual_ports=(7071,),
        command=lambda ports: [*command, "--port", str(ports[0])],
        ready_line=READY_LINE,
        settings=settings,
    )


def core_tools(program: str, settings: Mapping[str, str]) -> Service:
    """Azure Functions Core Tools in place of our host; it says where it runs and then lists the functions."""
    return Service(
        name="host",
        usual_ports=(7071,),
        command=lambda ports: [program, "start", "--port", str(ports[0])],
        ready_line="Functions:",
        settings={**settings, "FUNCTIONS_WORKER_RUNTIME": "python"},
        watches_input=False,
    )
