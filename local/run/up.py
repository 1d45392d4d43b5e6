"""`up`: the whole embedded Azure, supervised.

Order of steps: lock the data folder, start the services, then the function host, then publish `endpoints.json`.
While it runs, a host that dies is restarted and any other death stops the whole. When the definitions change, the host
is started again with them. Stopping goes the other way round, so that the host's last writes still find their storage.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from local.emulators.cosmos.http.options import EMULATOR_KEY
from local.emulators.eventhubs.options import connection_string as event_hubs_connection_string
from local.host.http import keys, sign_in
from local.process import ports
from local.process.errors import LocalRunError, StopRequestedError
from local.run import azurite, services
from local.run.child import Child
from local.run.errors import ChildEndedError
from local.run.folder import DataFolder
from local.run.follow import follow
from local.run.provision import placed_connections, provision_cosmos, provision_tables
from local.run.ready import from_here, ready_lines
from local.run.restarts import MOST, RestartBudget
from local.run.samples import load_samples, send_samples
from local.run.served import ServedDefinitions
from shared.app.settings import EDITED_DEFINITIONS
from shared.entries.keys.placement import DEFAULT_ACCOUNT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from local.process.lifeline import Stop
    from local.run.services import Service
    from shared.definitions.model import Definitions

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
    # Shows what to do with it, and the app's log. The tour has its own words.
    is_for_people: bool = True
    verbose: bool = False

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
        self._ports: dict[str, list[int]] = {}
        self._endpoints: dict[str, Any] = {"pid": os.getpid(), "pids": {}}
        self._restarts = RestartBudget()
        self._definitions = ServedDefinitions(options.definitions_file, folder.definitions)

    async def run(self, stop: Stop) -> None:
        """Start in order, watch, stop in the opposite order."""
        try:
            with contextlib.suppress(StopRequestedError):
                await self._serve(stop)
            _say("stopping")
        finally:
            for child in reversed(self._children):
                await child.stop()
        _say("stopped")

    async def _serve(self, stop: Stop) -> None:
        host = await self._start_all(stop)
        _say("ready")
        if self._options.is_for_people:
            self._say_where_things_are()
        async with self._following(host) if self._options.is_for_people else contextlib.nullcontext():
            await self._watch(host, stop)

    async def _start_all(self, stop: Stop) -> Child:
        self._check_host()
        definitions = self._definitions.first()
        self._endpoints["definitions"] = str(self._definitions.file)
        await stop.cuts_short(self._start_services(definitions))
        await stop.cuts_short(self._provision(definitions))
        if self._options.wants_samples:
            # To its end: a container with some of its samples is not empty, and would never get the others.
            await self._bring_samples(definitions)
        self._endpoints |= self._who_may_call()
        host, (http_port,) = await stop.cuts_short(self._start(self._host(), self._options.http_port))
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

    async def _start_services(self, definitions: Definitions) -> None:
        (_, storage_ports), (_, (cosmos_port,)), (_, (amqp_port,)) = await asyncio.gather(
            self._start(self._storage(definitions)),
            self._start(services.cosmos(self._folder.cosmos)),
            self._start(self._event_hubs(definitions)),
        )
        self._ports = {"azurite": storage_ports, "eventHubs": [amqp_port]}
        self._endpoints["storage"] = _storage_endpoints(storage_ports, definitions)
        self._endpoints["cosmos"] = {"endpoint": f"http://127.0.0.1:{cosmos_port}", "key": EMULATOR_KEY}
        self._endpoints["eventHubs"] = {"connectionString": event_hubs_connection_string(amqp_port)}

    def _storage(self, definitions: Definitions) -> Service:
        location = None if self._options.in_memory else self._folder.azurite
        return services.storage(location, _own_placements(definitions))

    def _event_hubs(self, definitions: Definitions) -> Service:
        return services.event_hubs(self._folder.event_hubs, definitions.hubs())

    async def _provision(self, definitions: Definitions) -> None:
        """Create what the definitions name, as the templates do in Azure."""
        cosmos = self._endpoints["cosmos"]
        for name in await provision_tables(self._index_accounts(), definitions):
            _say(f"{name} gives no answer: what belongs there waits until it does")
        await provision_cosmos(cosmos["endpoint"], cosmos["key"], definitions)

    async def _bring_samples(self, definitions: Definitions) -> None:
        cosmos = self._endpoints["cosmos"]
        written = await load_samples(cosmos["endpoint"], cosmos["key"], definitions)
        sent = await send_samples(self._endpoints["eventHubs"]["connectionString"], definitions)
        if written or sent:
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
            "INDEX_DEFINITIONS": str(self._definitions.copy),
            EDITED_DEFINITIONS.name: str(self._definitions.file),
            "FEED_POLL_DELAY_MS": "500",
            # One host, whose batches take seconds: a changed definition need not wait as long as in Azure.
            "CATALOG_REFRESH_SECONDS": "1",
            "BUILD_DELAY_SECONDS": "10",
            "COSMOS": f"AccountEndpoint={cosmos['endpoint']};AccountKey={cosmos['key']};",
            "EVENTHUB": self._endpoints["eventHubs"]["connectionString"],
        }

    async def _watch(self, host: Child, stop: Stop) -> None:
        """Until `stop`: restart the host when it dies or the definitions change, raise when another child dies."""
        stopping = asyncio.create_task(stop.wait())
        changing = asyncio.create_task(self._definitions.changed())
        while not stop.requested:
            endings = {child.ended: child for child in self._children}
            await asyncio.wait([stopping, changing, *endings], return_when=asyncio.FIRST_COMPLETED)
            if changing.done() and not stop.requested:
                host = await self._reload(host, changing.result())
                changing = asyncio.create_task(self._definitions.changed())
                continue
            for child in (child for ended, child in endings.items() if ended.done() and not stop.requested):
                if child is not host:
                    raise child.ended_error()
                host = await self._restart(host)

    async def _restart(self, host: Child) -> Child:
        """Start the host again that has died."""
        self._children.remove(host)
        return await self._start_again(host.ended_error())

    async def _start_again(self, reason: ChildEndedError) -> Child:
        """Start the host on its port, also when the new one dies at once, until the budget is used up."""
        while (count := self._restarts.take(time.monotonic())) is not None:
            _say(f"{str(reason).partition('. ')[0]}; restarting it ({count} of at most {MOST} in a minute)")
            try:
                restarted = await self._start_child(self._host(), [self._http_port()])
            except ChildEndedError as error:
                reason = error
            else:
                self._publish()
                _say(f"host is back, pid {restarted.pid}")
                return restarted
        raise reason

    def _http_port(self) -> int:
        return int(self._endpoints["http"].rpartition(":")[2])

    async def _reload(self, host: Child, definitions: Definitions) -> Child:
        """Start the host again with other definitions, once everything that they name is there."""
        if self._options.in_memory and _own_placements(definitions) != _own_placements(self._definitions.current):
            _say("the definitions have another placement, and storage in memory cannot take it: start the run again")
            return host
        _say("the definitions have changed: the app starts again with them")
        await self._stop(host)
        await self._adapt_services(definitions)
        try:
            await self._provision(definitions)
        except LocalRunError as error:
            told = f"the app goes on with the previous definitions; save the file to try again. {error}"
        else:
            self._definitions.take(definitions)
            told = f"the app has the definitions of {from_here(self._definitions.file)}"
        try:
            started = await self._start_child(self._host(), [self._http_port()])
        except ChildEndedError as error:
            started = await self._start_again(error)
        self._publish()
        _say(told)
        return started

    async def _adapt_services(self, definitions: Definitions) -> None:
        """Restart the services that have to serve more names than before: accounts, or hubs."""
        before = self._definitions.current
        for service, changed in (
            (self._storage(definitions), _own_placements(definitions) != _own_placements(before)),
            (self._event_hubs(definitions), definitions.hubs() != before.hubs()),
        ):
            if changed:
                await self._stop(next(child for child in self._children if child.name == service.name))
                await self._start_child(service, self._ports[service.name])
        self._endpoints["storage"] = _storage_endpoints(self._ports["azurite"], definitions)

    async def _stop(self, child: Child) -> None:
        self._children.remove(child)
        await child.stop()

    def _publish(self) -> None:
        self._endpoints["pids"] = {child.name: child.pid for child in self._children}
        self._folder.write_endpoints(self._endpoints)

    def _say_where_things_are(self) -> None:
        definitions, has_samples = self._definitions.current, self._options.wants_samples
        lines = ready_lines(self._endpoints, self._folder, definitions, has_samples=has_samples)
        print(*lines, sep="\n", flush=True)

    @contextlib.asynccontextmanager
    async def _following(self, host: Child) -> AsyncIterator[None]:
        following = asyncio.create_task(follow(host.log_file, "host | ", verbose=self._options.verbose))
        try:
            yield
        finally:
            following.cancel()


def _own_placements(definitions: Definitions) -> list[str]:
    """The connections that this run makes accounts for. One that is set in the environment is used as it is."""
    return sorted(name for name in placed_connections(definitions) if not os.environ.get(name))


def _storage_endpoints(storage_ports: Sequence[int], definitions: Definitions) -> dict[str, Any]:
    """The usual account and, where indexes are placed elsewhere, one account for each of those connections."""
    ports, placements = azurite.StoragePorts(*storage_ports), _own_placements(definitions)
    given = {name: os.environ[name] for name in placed_connections(definitions) - {*placements}}
    usual = {"connectionString": azurite.connection_string(ports)}
    placed = {name: azurite.connection_string(ports, azurite.placed_account(name)) for name in placements} | given
    return {**usual, "placed": placed} if placed else usual


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
