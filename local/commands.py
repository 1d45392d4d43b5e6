"""The commands of the embedded Azure and their arguments."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from local.lifeline import Stop
from shared.errors import IndexTablesError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROJECT_ROOT = Path(__file__).parent.parent


def main(arguments: Sequence[str]) -> int:
    """Run one command; a problem is one sentence on standard error and exit code 1."""
    options = _parser().parse_args(arguments)
    try:
        exit_code: int = asyncio.run(options.run(options))
        return exit_code
    except IndexTablesError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local", description="The embedded Azure.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_host(commands)
    return parser


def _add_host(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    host = commands.add_parser(
        "host",
        help="run a function app alone, against storage that is already there",
        epilog="Example: python -m local host --app . --port 7071",
    )
    host.add_argument("--app", type=Path, default=PROJECT_ROOT, help="the app's folder (default: this project)")
    host.add_argument("--port", type=int, default=7071, help="the HTTP port (default: 7071)")
    host.add_argument("--keys", type=Path, help="check function keys, kept in this file")
    host.add_argument(
        "--watch-stdin", action="store_true", help="stop when standard input ends, as a supervisor wishes"
    )
    host.set_defaults(run=_run_host)


async def _run_host(options: argparse.Namespace) -> int:
    from local.host import host, keys

    _log_to_stdout()
    stop = Stop()
    stop.on_signals()
    if options.watch_stdin:
        stop.on_end_of_input()
    checked = keys.read_or_create(options.keys) if options.keys else None
    ended_well = await host.run(options.app.resolve(), options.port, checked, stop)
    return 0 if ended_well else 1


def _log_to_stdout() -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # One line per call of the runtime and of every SDK request would bury the app's own lines.
    for chatty in ("azure", "azure.functions"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
