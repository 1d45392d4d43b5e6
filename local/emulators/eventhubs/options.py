"""The options of the local Event Hubs on the command line, and the connection string; importing them costs nothing."""

from __future__ import annotations

import argparse
from pathlib import Path

from local.process.ports import port_number

HOST = "127.0.0.1"
DEFAULT_PORT = 5672
# What Microsoft's emulator uses, so that its connection strings work here.
KEY_NAME = "RootManageSharedAccessKey"
KEY = "SAS_KEY_VALUE"
# What the service announces to its clients.
IDLE_TIMEOUT_SECONDS = 240.0
# Beyond any use, and far below what a field of 32 bits can hold as milliseconds.
MAX_NUMBER = 1e6


def connection_string(port: int, key_name: str = KEY_NAME, key: str = KEY) -> str:
    """The connection string of the server on `port`."""
    access = f"SharedAccessKeyName={key_name};SharedAccessKey={key}"
    return f"Endpoint=sb://{HOST}:{port};{access};UseDevelopmentEmulator=true;"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the local Event Hubs."""
    parser.add_argument(
        "--port", type=port_number, default=DEFAULT_PORT, help=f"the AMQP port (default: {DEFAULT_PORT})"
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the folder that keeps the events")
    parser.add_argument(
        "--hub", action="append", default=[], metavar="NAME:PARTITIONS", help="a hub to create if it is not there"
    )
    parser.add_argument(
        "--consumer-group", action="append", default=[], metavar="[HUB/]NAME", help="a group beside $Default"
    )
    parser.add_argument("--retention-hours", type=_positive, default=168, help="forget older events (default: 168)")
    parser.add_argument(
        "--retention-mib", type=_positive, help="forget the oldest events of a partition above this size"
    )
    parser.add_argument("--key-name", default=KEY_NAME, help=f"the shared access key's name (default: {KEY_NAME})")
    parser.add_argument("--key", default=KEY, help=f"the shared access key (default: {KEY})")
    parser.add_argument(
        "--idle-timeout", type=_positive, default=IDLE_TIMEOUT_SECONDS, metavar="SECONDS",
        help=f"close a connection that is silent for so long (default: {IDLE_TIMEOUT_SECONDS:g})",
    )  # fmt: skip
    parser.add_argument("--admin-port", type=port_number, help="serve the fault switches over HTTP on this port")
    parser.add_argument("--watch-stdin", action="store_true", help="stop when standard input ends")


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < MAX_NUMBER:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0 and below {MAX_NUMBER:g}")
    return number
