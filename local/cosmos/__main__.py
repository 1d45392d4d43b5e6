"""`python -m local.cosmos`: the local Cosmos DB on its own."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys

from local.cosmos.server import add_arguments, serve
from shared.errors import LocalRunError


async def _run(options: argparse.Namespace) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    await serve(options, stopping)


def main(arguments: list[str] | None = None) -> int:
    """Run the server until it is told to stop; 1 when it cannot start."""
    parser = argparse.ArgumentParser("python -m local.cosmos", description=__doc__)
    add_arguments(parser)
    logging.basicConfig(level=logging.INFO)
    try:
        asyncio.run(_run(parser.parse_args(arguments)))
    except LocalRunError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
