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
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from local.emulators.cosmos.http.options import EMULATOR_KEY
from local.emulators.eventhubs.options import connection_string as event_hubs_connection_string
from local.host.http import keys, sign_in
from local.process import ports
from local.process.errors import LocalRunError
from local.run import azurite, services
from local.run.child import Child
from local.run.errors import ChildEndedError
from local.run.folder import DataFolder
from local.run.follow import follow
from local.run.provision import placed_connections, provision_cosmos, provision_tables
from local.run.restarts import MOST, RestartBudget
from local.run.samples import load_samples, send_samples
from shared.definitions.files import read_definitions
from shared.definitions.model import Definitions
from shared.entries.keys.placement import DEFAULT_ACCOUNT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from local.process.lifeline import Stop
    from local.run.services import Service

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
    auth: Literal["keys", "entra"] | None = None
    use_core_tools: bool = False
    samples: bool | None = None
    shows_log: bool = True

    @property
    def definitions_file(self) -> Path:
        """The file that the app serves."""
        return self.definitions or self.app_folder / "indexes.yaml"

    @property
    def wants_samples(self) -> bool:
        """Sample facts belong to the project's own definitions, unless the user says otherwise."""
        return self.definitions is None if self.samples is None else self.samples


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
            async with _following(host.log_file) if self._options.shows_log else contextlib.nullcontext():
                await self._watch(host, stop)
            _say("stopping")
        finally:
            for child in reversed(self._children):
                await child.stop()
        _say("stopped")

    async def _start_all(self) -> Child:
        self._check_host()
        definitions = self._definitions()
        await self._start_services(definitions)
        await self._provision(definitions)
        if self._options.wants_samples:
            await self._bring_samples(definitions)
        self._endpoints |= self._who_may_call()
        host, (http_port,) = await self._start(self._host(), self._options.http_port)
        self._endpoints["http"] = f"http://127.0.0.1:{http_port}"
        self._publish()
        return host

    def _check_host(self) -> None:
        """Refuse a host that cannot start before anything else has."""
        port = self._options.http_port
        if port is not None and not ports.is_free(port):
            raise LocalRunError(f"Port {port} is taken: choose another with --http-port, or leave it out.")
        if self._options.use_core_tools:
            _core_tools()

    def _definitions(self) -> Definitions:
        """What the app will serve. Broken definitions stop nothing: the app starts and reports their faults, too."""
        loaded = read_definitions(self._options.definitions_file)
        for fault in loaded.faults:
            _say(f"fault in the definitions: {fault}")
        return Definitions() if loaded.faults else loaded.definitions

    async def _start_services(self, definitions: Definitions) -> None:
        location = None if self._options.in_memory else self._folder.azurite
        # One that is set in the environment is used as it is: another Azurite, or an account in Azure.
        placements = sorted(name for name in placed_connections(definitions) if not os.environ.get(name))
        (_, storage_ports), (_, (cosmos_port,)), (_, (amqp_port,)) = await asyncio.gather(
            self._start(services.storage(location, placements)),
            self._start(services.cosmos(self._folder.cosmos)),
            self._start(services.event_hubs(self._folder.event_hubs, definitions.hubs())),
        )
        given = {name: os.environ[name] for name in placed_connections(definitions) - {*placements}}
        self._endpoints["storage"] = _storage_endpoints(azurite.StoragePorts(*storage_ports), placements, given)
        self._endpoints["cosmos"] = {"endpoint": f"http://127.0.0.1:{cosmos_port}", "key": EMULATOR_KEY}
        self._endpoints["eventHubs"] = {"connectionString": event_hubs_connection_string(amqp_port)}

    async def _provision(self, definitions: Definitions) -> None:
        """Create what the definitions name, as the templates do in Azure."""
        cosmos = self._endpoints["cosmos"]
        await provision_tables(self._index_accounts(), definitions)
        await provision_cosmos(cosmos["endpoint"], cosmos["key"], definitions)

    async def _bring_samples(self, definitions: Definitions) -> None:
        cosmos = self._endpoints["cosmos"]
        written = await load_samples(cosmos["endpoint"], cosmos["key"], definitions)
        sent = await send_samples(self._endpoints["eventHubs"]["connectionString"], definitions)
        _say(f"{written} sample facts written, {sent} sent as events")

    async def _start(self, service: Service, wanted_port: int | None = None) -> tuple[Child, list[int]]:
        """Start a service on the wanted port, or on its usual ones, or on any that are free."""
        chosen = ports.choose(service.usual_ports) if wanted_port is None else [wanted_port]
        for attempts_left in reversed(range(START_ATTEMPTS)):
            try:
                child = await self._start_child(service, chosen)
            except ChildEndedError as error:
                # Between our check of a port and the start of the program, another process may have taken it.
                if not attempts_left or wanted_port is not None or not _port_was_taken(error):
                    raise
                chosen = ports.any_free(len(chosen))
            else:
                break
        _say_ports(service, chosen)
        return child, chosen

    async def _start_child(self, service: Service, chosen: Sequence[int]) -> Child:
        child = await Child.start(service, chosen, self._folder.logs / f"{service.name}.log", self._lock)
        self._children.append(child)
        try:
            await child.wait_until_ready()
        except ChildEndedError:
            self._children.remove(child)
            raise
        return child

    def _host(self) -> Service:
        settings = self._app_settings()
        if not self._options.use_core_tools:
            return services.function_host(self._options.app_folder, settings, self._checks())
        return services.core_tools(_core_tools(), settings)

    def _who_may_call(self) -> dict[str, Any]:
        """The keys of the app, or what tokens are signed with."""
        if self._options.auth == "keys":
            return {"keys": asdict(keys.read_or_create(self._folder.keys))}
        if self._options.auth == "entra":
            key = sign_in.read_or_create(self._folder.token_key).key
            return {"signIn": {"key": key, "audience": sign_in.AUDIENCE, "issuer": sign_in.ISSUER}}
        return {}

    def _checks(self) -> list[str]:
        """What the host checks of a call before the app gets it."""
        if self._options.auth == "keys":
            return ["--keys", str(self._folder.keys)]
        return ["--tokens", str(self._folder.token_key)] if self._options.auth == "entra" else []

    def _index_accounts(self) -> dict[str, str]:
        """The storage accounts that hold tables, by the name of their connection."""
        storage = self._endpoints["storage"]
        return {DEFAULT_ACCOUNT: storage["connectionString"], **storage.get("placed", {})}

    def _app_settings(self) -> dict[str, str]:
        """What Bicep sets in Azure."""
        storage = self._endpoints["storage"]["connectionString"]
        cosmos = self._endpoints["cosmos"]
        return {
            "AzureWebJobsStorage": storage,
            **self._index_accounts(),
            "ACCESS": self._options.auth or "keys",
            "INDEX_DEFINITIONS": str(self._options.definitions_file.resolve()),
            "FEED_POLL_DELAY_MS": "500",
            # One host, whose batches take seconds: a changed definition need not wait as long as in Azure.
            "CATALOG_REFRESH_SECONDS": "1",
            "BUILD_DELAY_SECONDS": "10",
            "COSMOS": f"AccountEndpoint={cosmos['endpoint']};AccountKey={cosmos['key']};",
            "EVENTHUB": self._endpoints["eventHubs"]["connectionString"],
        }

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
        """Start the host again on its port, also when the new one dies at once, until the budget is used up."""
        self._children.remove(host)
        port = int(self._endpoints["http"].rpartition(":")[2])
        reason = host.ended_error()
        while (count := self._restarts.take(time.monotonic())) is not None:
            _say(f"{str(reason).partition('. ')[0]}; restarting it ({count} of at most {MOST} in a minute)")
            try:
                restarted = await self._start_child(self._host(), [port])
            except ChildEndedError as error:
                reason = error
            else:
                self._publish()
                _say(f"host is back, pid {restarted.pid}")
                return restarted
        raise reason

    def _publish(self) -> None:
        self._endpoints["pids"] = {child.name: child.pid for child in self._children}
        self._folder.write_endpoints(self._endpoints)

    def _say_where_things_are(self) -> None:
        _say("ready")
        print(f"    HTTP       {self._endpoints['http']}/api/health/ready")
        print(f"    Status     {self._endpoints['http']}/api/status/page")
        print(f"    Endpoints  {_from_here(self._folder.endpoints)}")
        print(f"    Logs       {_from_here(self._folder.logs)}")
        print("    Ctrl-C stops it.", flush=True)


@contextlib.asynccontextmanager
async def _following(log_file: Path) -> AsyncIterator[None]:
    following = asyncio.create_task(follow(log_file, "host | "))
    try:
        yield
    finally:
        following.cancel()


def _storage_endpoints(ports: azurite.StoragePorts, placements: Sequence[str], given: dict[str, str]) -> dict[str, Any]:
    """The usual account and, where indexes are placed elsewhere, one account for each of those connections."""
    usual = {"connectionString": azurite.connection_string(ports)}
    placed = {name: azurite.connection_string(ports, azurite.placed_account(name)) for name in placements} | given
    return {**usual, "placed": placed} if placed else usual


def _from_here(path: Path) -> Path:
    """The path as a user in this folder would write it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _core_tools() -> str:
    found = shutil.which("func")
    if found is None:
        raise LocalRunError("func is not on PATH: install Azure Functions Core Tools, or leave out --host func.")
    return found


def _port_was_taken(error: ChildEndedError) -> bool:
    return "EADDRINUSE" in str(error) or "is taken" in str(error)


def _say_ports(service: Service, chosen: Sequence[int]) -> None:
    where = ", ".join(str(port) for port in chosen)
    usual = list(service.usual_ports) == list(chosen)
    _say(f"{service.name} listens on {where}" + ("" if usual else " (not its usual ports)"))


def _say(text: str) -> None:
    print(f"local: {text}", flush=True)
