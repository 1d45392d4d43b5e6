"""The function host: loads the app, listens on its triggers, serves HTTP, and stops in order."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING

from local.host.configuration import read_app_settings, read_host_json
from local.host.http.origins import Origins
from local.host.http.routes import RouteTable
from local.host.http.server import GRACE_SECONDS, Patience, serving
from local.host.http.tools import ToolEndpoint
from local.host.http.trigger import HttpTrigger
from local.host.invoker import Invoker
from local.host.runtime import Runtime
from local.host.services import HostServices
from local.host.triggers.kinds import trigger_for
from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from local.host.http.keys import Keys
    from local.host.http.sign_in import SignIn
    from local.host.runtime import Function
    from local.host.triggers.kinds import Trigger
    from local.process.lifeline import Stop

log = logging.getLogger("host")

READY_LINE = "The host is ready"
_YES = frozenset({"true", "1"})
TOOL_TRIGGER = "mcpToolTrigger"


async def run(
    app_folder: Path,
    port: int,
    keys: Keys | None,
    stop: Stop,
    *,
    sign_in: SignIn | None = None,
    http_only: bool = False,
) -> bool:
    """Run the app in `app_folder` until `stop`; return whether it ended well (no function ran over its time).

    With `http_only` no other trigger is listened on: enough to look things up in storage that others fill.
    """
    host_json = read_host_json(app_folder)
    settings = read_app_settings(app_folder)
    os.environ.update(settings)  # where functions look for them
    runtime = await Runtime.load(app_folder)
    invoker = Invoker(runtime, host_json.function_timeout_seconds, stop)
    services = HostServices(settings, host_json, invoker, stop)
    http_functions, tool_functions, others = _by_kind(_enabled(runtime.functions, settings))
    triggers = [] if http_only else [trigger_for(function, services) for function in others]
    routes = RouteTable(http_functions, host_json.route_prefix)
    tools = ToolEndpoint.of(tool_functions, host_json.extension("mcp"), invoker) if tool_functions else None
    for trigger in triggers:
        await trigger.prepare()
    http_trigger = HttpTrigger(routes, invoker, keys, Origins.from_settings(settings), sign_in, tools)
    async with serving(http_trigger, port, Patience()):
        log.info("%s: %d functions on http://127.0.0.1:%d", READY_LINE, len(runtime.functions), port)
        await _listen(triggers, stop)
    return not invoker.timed_out


def _enabled(functions: Sequence[Function], settings: Mapping[str, str]) -> list[Function]:
    """Those that are not switched off by `AzureWebJobs.NAME.Disabled`, as in Azure."""
    disabled = {each.name for each in functions if _is_disabled(each, settings)}
    if disabled:
        log.warning("Disabled by their settings: %s", ", ".join(sorted(disabled)))
    return [each for each in functions if each.name not in disabled]


def _is_disabled(function: Function, settings: Mapping[str, str]) -> bool:
    return settings.get(f"AzureWebJobs.{function.name}.Disabled", "").lower() in _YES


def _by_kind(functions: Sequence[Function]) -> tuple[list[Function], list[Function], list[Function]]:
    """Functions that answer HTTP, tools for assistants, and all others."""
    for function in functions:
        unsupported = [binding["type"] for binding in function.outputs if binding["type"] != "http"]
        if unsupported:
            raise LocalRunError(
                f"Function {function.name} has the output binding {unsupported[0]}, which the local host does "
                "not write; use the SDK of that service in the function."
            )
    http = [function for function in functions if function.trigger_type == "httpTrigger"]
    tools = [function for function in functions if function.trigger_type == TOOL_TRIGGER]
    others = [function for function in functions if function.trigger_type not in {"httpTrigger", TOOL_TRIGGER}]
    return http, tools, others


async def _listen(triggers: Sequence[Trigger], stop: Stop) -> None:
    """Listen on every trigger until `stop`; one that fails for good stops the host with its reason."""
    listening = [asyncio.create_task(trigger.listen()) for trigger in triggers]
    for task in listening:
        task.add_done_callback(lambda _: stop.request())
    await stop.wait()
    if listening:
        _, late = await asyncio.wait(listening, timeout=GRACE_SECONDS)
        for task in late:
            task.cancel()
    for result in await asyncio.gather(*listening, return_exceptions=True):
        if isinstance(result, Exception):
            raise result
