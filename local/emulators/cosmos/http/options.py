"""The options of the local Cosmos DB on the command line; importing them costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from local.process.ports import port_number

if TYPE_CHECKING:
    import argparse

# The published key of Microsoft's own emulator: every sample and tool knows it.
EMULATOR_KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
DEFAULT_PORT = 8081
# More than one, so that everything that crosses ranges is exercised on a laptop, too; three, so that one of
# them has no neighbour at either end of hash space.
DEFAULT_RANGES = 3
MAX_RANGES = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the local Cosmos DB."""
    parser.add_argument(
        "--port", type=port_number, default=DEFAULT_PORT, help="port on 127.0.0.1 (default %(default)s)"
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder that holds the data")
    parser.add_argument(
        "--partitions", type=int, default=DEFAULT_RANGES, metavar="N",
        help="physical ranges of a new container (default %(default)s)",
    )  # fmt: skip
    parser.add_argument("--https", action="store_true", help="serve HTTPS with a self-signed certificate")
    parser.add_argument("--key", default=EMULATOR_KEY, help="account key (default: the published emulator key)")
    parser.add_argument(
        "--previous-images", action="store_true", help='give "previous" in the all-versions change feed'
    )
    parser.add_argument("--watch-stdin", action="store_true", help="stop when standard input ends")
