"""`python -m local.eventhubs`: the local Event Hubs alone."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from typing import TYPE_CHECKING

from local.eventhubs import server
from local.lifeline import Stop
from shared.errors import IndexTablesError

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal; a problem is one sentence on standard error and exit code 1."""
    parser = argparse.ArgumentParser(
        prog="python -m local.eventhubs",
        description="The local Event Hubs, on 127.0.0.1.",
        epilog="Example: python -m local.eventhubs --data .local --hub orders:4 --consumer-group audit",
    )
    server.add_arguments(parser)
    parser.add_argument("--watch-stdin", action="store_true", help="stop when standard input ends")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        asyncio.run(_run(options))
    except IndexTablesError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


async def _run(options: argparse.Namespace) -> None:
    stop = Stop()
    stop.on_signals()
    if options.watch_stdin:
        stop.on_end_of_input()
    await server.serve(options, stop)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
