"""A source that a command works on, and the services behind it: a local run's, or those of the settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cli.errors import UsageError
from cli.local_run import DATA_FOLDER, endpoints
from shared import settings

if TYPE_CHECKING:
    import argparse

    from shared.definitions.model import Definitions, Source


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """`--definitions`, and where its sources are: `--data` or `--azure`."""
    parser.add_argument("--definitions", metavar="FILE", default=settings.value(settings.INDEX_DEFINITIONS))
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--data", type=Path, default=Path(DATA_FOLDER), metavar="DIR", help="a local run's data folder")
    where.add_argument("--azure", action="store_true", help="what the settings COSMOS and EVENTHUB connect to instead")


def named_source(args: argparse.Namespace, definitions: Definitions) -> Source:
    """The source that the arguments name."""
    if args.source not in definitions.sources:
        choices = ", ".join(definitions.sources)
        raise UsageError(f"there is no source {args.source} in {args.definitions}: choose one of {choices}")
    return definitions.sources[args.source]


def cosmos_connection(args: argparse.Namespace) -> str:
    """The connection string of the account with the containers."""
    if args.azure:
        return settings.value(settings.COSMOS)
    cosmos = endpoints(args.data)["cosmos"]
    return f"AccountEndpoint={cosmos['endpoint']};AccountKey={cosmos['key']};"


def event_hubs_connection(args: argparse.Namespace) -> str:
    """The connection string of the namespace with the hubs."""
    if args.azure:
        return settings.value(settings.EVENTHUB)
    return str(endpoints(args.data)["eventHubs"]["connectionString"])
