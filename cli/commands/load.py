"""`index-tables load`: write facts from files into the container of a source."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command
from cli.definitions import read
from cli.errors import UsageError
from cli.fact_files import facts_in
from cli.local_run import DATA_FOLDER, endpoints
from cli.output import write_rows
from cli.progress import Progress
from shared import settings
from shared.errors import FactsNotWrittenError

if TYPE_CHECKING:
    import argparse

    from azure.cosmos.aio import CosmosClient

    from cli.arguments import Commands
    from shared.definitions.model import CosmosContainer

_EXAMPLES: Final = """\
  index-tables load customers.jsonl --source customers
  index-tables load movies.csv more-movies.json --source movies --data .local
  COSMOS="AccountEndpoint=...;AccountKey=...;" index-tables load facts.jsonl --source customers --azure
"""
_COLUMNS: Final = ("file", "source", "facts")


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "load",
        run,
        summary="write facts into a source's container",
        description=(
            "Write facts from JSON, JSON lines or CSV files into the Cosmos DB container of a source. Every file is "
            "checked before the first fact is written; facts that are there already are replaced."
        ),
        examples=_EXAMPLES,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help=".json, .jsonl or .csv")
    parser.add_argument("--source", required=True, help="the source, as the definitions call it")
    parser.add_argument("--definitions", metavar="FILE", default=settings.value(settings.INDEX_DEFINITIONS))
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--data", type=Path, default=Path(DATA_FOLDER), metavar="DIR", help="a local run's data folder")
    where.add_argument("--azure", action="store_true", help="the account in the setting COSMOS instead")


def run(args: argparse.Namespace) -> int:
    """Check all files, then write them one after the other."""
    container = _container(args.definitions, args.source)
    counts = {file: sum(1 for _ in facts_in(file)) for file in args.files}
    connection = _connection_string(args)
    asyncio.run(_write(connection, container, counts))
    rows: list[dict[str, Any]] = [
        {"file": str(file), "source": args.source, "facts": count} for file, count in counts.items()
    ]
    write_rows(rows, _COLUMNS, args.format)
    return 0


def _container(definitions_file: str, source_name: str) -> CosmosContainer:
    sources = read(definitions_file).require().sources
    if source_name not in sources:
        raise UsageError(f"there is no source {source_name} in {definitions_file}: choose one of {', '.join(sources)}")
    container = sources[source_name].cosmos
    if container is None:
        raise UsageError(f"the source {source_name} has no Cosmos DB container: send its facts as events")
    return container


def _connection_string(args: argparse.Namespace) -> str:
    if args.azure:
        return settings.value(settings.COSMOS)
    cosmos = endpoints(args.data)["cosmos"]
    return f"AccountEndpoint={cosmos['endpoint']};AccountKey={cosmos['key']};"


async def _write(connection: str, container: CosmosContainer, counts: dict[Path, int]) -> None:
    from azure.core.exceptions import AzureError
    from azure.cosmos.aio import CosmosClient

    try:
        async with CosmosClient.from_connection_string(connection) as client:
            for file, count in counts.items():
                await _write_file(client, container, file, count)
    except* AzureError as errors:
        first = str(errors.exceptions[0]).partition("\n")[0]
        raise FactsNotWrittenError(f"Not all facts were written: {first} Run the same command again.") from None


async def _write_file(client: CosmosClient, container: CosmosContainer, file: Path, count: int) -> None:
    from shared.facts.upload import upload

    proxy = client.get_database_client(container.database).get_container_client(container.container)
    with Progress(file.name, count) as progress:
        await upload(proxy, facts_in(file), progress.advance)
