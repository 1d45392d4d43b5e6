"""`up`: the whole embedded Azure, supervised.

Order of steps: lock the data folder, start the services, then the function host, then publish `endpoints.json`.
While it runs, a host that dies is restarted and any other death stops the whole. Stopping goes the other way round,
so that the host's last writes still find their storage.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from local import azurite, ports, services
from local.child import Child
from local.errors import ChildEndedError, LocalRunError
from local.folder import DataFolder
from local.follow import follow
from local.host import keys
from local.host.http import PING_PATH
from local.restarts import MOST, RestartBudget

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from local.lifeline import Stop
    from local.services import Service

START_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What the user asked `up` for."""

    app_folder: Path
    data_folder: Path
    definitions: Path | None = None
    http_port: int | None = None
    in_memory: bool = False
    fresh: bool = False
    auth: bool = False
    use_core_tools: bool = False


async def up(options: UpOptions, stop: Stop) -> None:
    """Run everything until `stop`; raise when a part cannot start or ends by itself."""
    folder = DataFolder(options.data_folder)
    async with folder.locked(stop) as lock:
        folder.prepare(fresh=options.fresh)
        try:
            await LocalRun(options, folder, lock).run(stop)
        finally:
            folder.endpoints.unlink(missing_ok=True)


class LocalRun:
    """The children of one `up` and what they share."""

    def __init__(self, options: UpOptions, folder: DataFolder, lock: int) -> None:
        self._options = options
        self._folder = folder
        self._lock = lock
        self._children: list[Child] = []
        self._endpoints: dict[str, Any] = {"pid": os.getpid(), "pids": {}}
        self._restarts = RestartBudget()

    async def run(self, stop: Stop) -> None:
        """Start in order, watch, stop in the opposite order."""
        try:
            host = await self._start_all()
            self._say_where_things_are()
            async with _following(host.log_file):
                await self._watch(host, stop)
            _say("stopping")
        finally:
            for child in reversed(self._children):
                await child.stop()
        _say("stopped")

    async def _start_all(self) -> Child:
        location = None if self._options.in_memory else self._folder.azurite
        storage_ports = await self._start_service(services.storage(location))
        connection_string = azurite.connection_string(azurite.StoragePorts(*storage_ports))
        self._endpoints["storage"] = {"connectionString": connection_string}
        if self._options.auth:
            self._endpoints["keys"] = asdict(keys.read_or_create(self._folder.keys))
        host = await self._start_host_on_free_port()
        self._publish(host)
        return host

    async def _start_service(self, service: Service) -> list[int]:
        chosen = ports.choose(service.usual_ports)
        for attempt in range(START_ATTEMPTS):
            child = await self._start_child(service.name, service.command(chosen), {})
            try:
                await child.wait_until(lambda port=chosen[-1]: services.accepts_connections(port))  # type: ignore[misc]
            except ChildEndedError as error:
                if attempt + 1 == START_ATTEMPTS or not _port_was_taken(error):
                    raise
                self._children.remove(child)
                chosen = ports.any_free(len(chosen))
                continue
            _say_ports(service.name, service.usual_ports, chosen)
            break
        return chosen

    async def _start_host_on_free_port(self) -> Child:
        wanted = self._options.http_port
        if wanted is not None and not ports.is_free(wanted):
            raise LocalRunError(f"Port {wanted} is taken: choose another with --http-port, or leave it out.")
        (port,) = [wanted] if wanted is not None else ports.choose([services.HOST_PORT])
        _say_ports("host", (wanted or services.HOST_PORT,), [port])
        self._endpoints["http"] = f"http://127.0.0.1:{port}"
        return await self._start_host()

    async def _start_host(self) -> Child:
        host = await self._start_child(
            "host", self._host_command(), self._app_settings(), watches_input=not self._options.use_core_tools
        )
        await host.wait_until(lambda: services.answers(self._endpoints["http"] + PING_PATH))
        return host

    async def _start_child(
        self, name: str, command: Sequence[str], environment: dict[str, str], *, watches_input: bool = True
    ) -> Child:
        log_file = self._folder.logs / f"{name}.log"
        child = await Child.start(name, command, environment, log_file, self._lock, watches_input=watches_input)
        self._children.append(child)
        return child

    def _host_command(self) -> list[str]:
        port = self._endpoints["http"].rpartition(":")[2]
        if self._options.use_core_tools:
            core_tools = shutil.which("func")
            if core_tools is None:
                raise LocalRunError(
                    "func is not on PATH: install Azure Functions Core Tools, or leave out --host func."
                )
            return [core_tools, "start", "--port", port]
        command = [sys.executable, "-m", "local", "host", "--app", str(self._options.app_folder), "--port", port]
        checked = ["--keys", str(self._folder.keys)] if self._options.auth else []
        return [*command, *checked, "--watch-stdin"]

    def _app_settings(self) -> dict[str, str]:
        """What Bicep sets in Azure."""
        storage = self._endpoints["storage"]["connectionString"]
        settings = {"AzureWebJobsStorage": storage, "INDEX_STORAGE": storage, "FUNCTIONS_WORKER_RUNTIME": "python"}
        if self._options.definitions:
            settings["INDEX_DEFINITIONS"] = str(self._options.definitions.resolve())
        return settings

    async def _watch(self, host: Child, stop: Stop) -> None:
        """Until `stop`: restart the host when it dies, raise when another child does."""
        stopping = asyncio.create_task(stop.wait())
        while not stop.requested:
            endings = {child.ended: child for child in self._children}
            await asyncio.wait([stopping, *endings], return_when=asyncio.FIRST_COMPLETED)
            for child in (child for ended, child in endings.items() if ended.done() and not stop.requested):
                if child is not host:
                    raise child.ended_error()
                host = await self._restart(host)

    async def _restart(self, host: Child) -> Child:
        count = self._restarts.take(time.monotonic())
        if count is None:
            raise host.ended_error()
        _say(f"host {host.how_it_ended()}; restarting it ({count} of at most {MOST} in a minute)")
        self._children.remove(host)
        restarted = await self._start_host()
        self._publish(restarted)
        _say(f"host is back, pid {restarted.pid}")
        return restarted

    def _publish(self, host: Child) -> None:
        self._endpoints["pids"] = {child.name: child.pid for child in self._children}
        self._folder.write_endpoints(self._endpoints)

    def _say_where_things_are(self) -> None:
        _say("ready")
        print(f"    HTTP       {self._endpoints['http']}/api/health/ready")
        print(f"    Endpoints  {self._folder.endpoints}")
        print(f"    Logs       {self._folder.logs}")
        print("    Ctrl-C stops it.", flush=True)


@contextlib.asynccontextmanager
async def _following(log_file: Path) -> AsyncIterator[None]:
    following = asyncio.create_task(follow(log_file, "host | "))
    try:
        yield
    finally:
        following.cancel()


def _port_was_taken(error: ChildEndedError) -> bool:
    return "EADDRINUSE" in str(error)


def _say_ports(name: str, usual: Sequence[int], chosen: Sequence[int]) -> None:
    where = ", ".join(str(port) for port in chosen)
    if list(usual) == list(chosen):
        _say(f"{name} listens on {where}")
    else:
        _say(f"{name} listens on {where} (its usual ports are taken)")


def _say(text: str) -> None:
    print(f"local: {text}", flush=True)
