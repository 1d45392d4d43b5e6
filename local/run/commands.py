"""The commands of the embedded Azure and their arguments."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from local.process.errors import LocalAzureError, LocalRunError
from local.process.lifeline import Stop
from local.process.ports import port_number
from shared.errors import IndexTablesError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROJECT_ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str]) -> int:
    """Run one command; a problem is one sentence on standard error and exit code 1."""
    options = parser().parse_args(arguments)
    try:
        exit_code: int = asyncio.run(options.run(options))
        return exit_code
    except (LocalAzureError, IndexTablesError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    """All commands."""
    whole = argparse.ArgumentParser(prog="python -m local", description="The embedded Azure.")
    commands = whole.add_subparsers(required=True, metavar="COMMAND")
    _add_up(commands)
    _add_demo(commands)
    _add_host(commands)
    _add_cosmos(commands)
    _add_eventhubs(commands)
    return whole


def _add_up(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    up = commands.add_parser(
        "up",
        help="run everything: storage, Cosmos DB and the function app",
        epilog="Example: python -m local up --data .local --fresh",
    )
    up.add_argument(
        "--definitions", type=Path, metavar="FILE", help="the definitions (default: indexes.yaml of the repository)"
    )
    up.add_argument(
        "--data",
        type=Path,
        default=PROJECT_ROOT / ".local",
        metavar="DIR",
        help="the data folder (default: .local of the repository)",
    )
    up.add_argument("--fresh", action="store_true", help="remove what an earlier run left in the data folder")
    up.add_argument("--in-memory", action="store_true", help="keep storage in memory: nothing outlives the run")
    up.add_argument(
        "--samples",
        action=argparse.BooleanOptionalAction,
        help="fill empty containers and hubs with sample facts (default: with the app's own definitions only)",
    )
    up.add_argument("--http-port", type=port_number, metavar="N", help="the HTTP port (default: 7071, or a free one)")
    up.add_argument(
        "--auth",
        choices=["keys", "entra"],
        nargs="?",
        const="keys",
        help="check function keys, which are in endpoints.json (keys, also --auth alone), or tokens that "
        '"index-tables token" makes (entra)',
    )
    up.add_argument("--verbose", action="store_true", help="show the whole log of the app, not only warnings")
    up.add_argument("--host", choices=["own", "func"], default="own", help="our host, or Azure Functions Core Tools")
    up.set_defaults(run=_run_up)


async def _run_up(options: argparse.Namespace) -> int:
    stop = Stop()
    stop.on_signals()
    from local.run.up import UpOptions, up  # which takes a while

    if options.definitions and not options.definitions.is_file():
        raise LocalRunError(f"{options.definitions} is not a file: name one with --definitions.")
    await up(
        UpOptions(
            app_folder=PROJECT_ROOT,
            data_folder=options.data.resolve(),
            definitions=options.definitions,
            http_port=options.http_port,
            in_memory=options.in_memory,
            fresh=options.fresh,
            auth=options.auth,
            use_core_tools=options.host == "func",
            samples=options.samples,
            verbose=options.verbose,
        ),
        stop,
    )
    return 0


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    demo = commands.add_parser(
        "demo", help="run everything, show a tour of requests, end", epilog="Example: python -m local demo"
    )
    demo.set_defaults(run=_run_demo)


async def _run_demo(_options: argparse.Namespace) -> int:
    stop = Stop()
    stop.on_signals()
    from local.run.demo import demo  # which takes a while

    await demo(PROJECT_ROOT, stop)
    return 0


def _add_host(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    host = commands.add_parser(
        "host",
        help="run a function app alone, against storage that is already there",
        epilog="Example: python -m local host --app . --port 7071",
    )
    host.add_argument("--app", type=Path, default=PROJECT_ROOT, help="the app's folder (default: this project)")
    host.add_argument("--port", type=port_number, default=7071, help="the HTTP port (default: 7071)")
    host.add_argument("--http-only", action="store_true", help="serve HTTP and listen on no other trigger")
    checks = host.add_mutually_exclusive_group()
    checks.add_argument("--keys", type=Path, help="check function keys, kept in this file")
    checks.add_argument("--tokens", type=Path, help="check tokens, signed with the key in this file")
    host.add_argument(
        "--watch-stdin", action="store_true", help="stop when standard input ends, as a supervisor wishes"
    )
    host.set_defaults(run=_run_host)


async def _run_host(options: argparse.Namespace) -> int:
    from local.host import host
    from local.host.http import keys, sign_in

    _log_to_stdout()
    environment = dict(os.environ)  # to start again with: the app's settings come on top of it
    stop = _stop_of_child(options)
    checked = keys.read_or_create(options.keys) if options.keys else None
    tokens = sign_in.read_or_create(options.tokens) if options.tokens else None
    try:
        ended_well = await host.run(
            options.app.resolve(), options.port, checked, stop, sign_in=tokens, http_only=options.http_only
        )
    finally:
        # The clients of the app and of its triggers end with the process. What asyncio says about that would come
        # last, where the supervisor looks for the reason of an end.
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    if not ended_well:
        # The function that ran over its time may still hold a thread, which only a new process is free of. The port
        # and the process id stay.
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
    return 0


def _add_cosmos(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from local.emulators.cosmos.http.options import add_arguments

    cosmos = commands.add_parser(
        "cosmos",
        help="run the local Cosmos DB alone",
        epilog="Example: python -m local cosmos --data .cosmos --port 8081",
    )
    add_arguments(cosmos)
    cosmos.set_defaults(run=_run_cosmos)


async def _run_cosmos(options: argparse.Namespace) -> int:
    from local.emulators.cosmos.http.server import serve

    logging.basicConfig(level=logging.INFO)
    await serve(options, _stop_of_child(options))
    return 0


def _add_eventhubs(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from local.emulators.eventhubs.options import add_arguments

    eventhubs = commands.add_parser(
        "eventhubs",
        help="run the local Event Hubs alone",
        epilog="Example: python -m local eventhubs --data .eventhubs --hub orders:4",
    )
    add_arguments(eventhubs)
    eventhubs.set_defaults(run=_run_eventhubs)


async def _run_eventhubs(options: argparse.Namespace) -> int:
    from local.emulators.eventhubs.server import serve

    _log_to_stdout()
    await serve(options, _stop_of_child(options))
    return 0


def _stop_of_child(options: argparse.Namespace) -> Stop:
    """Stops on signals, and with the supervisor if there is one."""
    stop = Stop()
    stop.on_signals()
    if options.watch_stdin:
        stop.on_end_of_input()
    return stop


def _log_to_stdout() -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # One line per call of the runtime and of every SDK request would bury the app's own lines.
    for chatty in ("azure", "azure.functions"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
