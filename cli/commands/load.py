"""`index-tables load`: write facts from files into the container of a source, or send them to its event hub."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command
from cli.errors import UsageError
from cli.fact_files import cosmos_fault, facts_in
from cli.output import write_rows
from cli.progress import Progress
from cli.sources import add_source_arguments, cosmos_connection, event_hubs_connection, named_source
from shared.errors import FactsNotWrittenError, UnreadableChangeError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from azure.cosmos.aio import CosmosClient

    from cli.arguments import Commands
    from shared.definitions.model import CosmosContainer, Source
    from shared.facts.sending import FactEvents

_EXAMPLES: Final = """\
  index-tables load customers.jsonl --source customers
  index-tables load movies.csv more-movies.json --source movies --data .local
  index-tables load orders.jsonl --source orders --events
  COSMOS="AccountEndpoint=...;AccountKey=...;" index-tables load facts.jsonl --source customers --azure
  EVENTHUB="Endpoint=sb://...;" index-tables load orders.jsonl --source orders --events --azure
"""
_COLUMNS: Final = ("file", "source", "facts")


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "load",
        run,
        summary="write facts into a source's container, or send them to its event hub",
        description=(
            "Write facts from JSON, JSON lines or CSV files into the Cosmos DB container of a source, or send them to "
            "its event hub. Every file is checked before the first fact is written; facts that are there already are "
            "replaced."
        ),
        examples=_EXAMPLES,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help=".json, .jsonl or .csv")
    parser.add_argument(
        "--events", action="store_true", help="send them as events, keyed by fact key, to the source's event hub"
    )
    parser.add_argument("--source", required=True, help="the source, as the definitions call it")
    add_source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Check all files, then write them one after the other."""
    source = named_source(args)
    counts = _send_files(args, source) if args.events else _write_files(args, source)
    rows: list[dict[str, Any]] = [
        {"file": str(file), "source": args.source, "facts": count} for file, count in counts.items()
    ]
    write_rows(rows, _COLUMNS, args.format)
    return 0


def _checked(files: list[Path], fault_of: Callable[[dict[str, Any]], str | None]) -> dict[Path, int]:
    """How many facts each file has, once all of them are fine."""
    return {file: sum(1 for _ in facts_in(file, fault_of)) for file in files}


# ---------------------------------------------------------------------------------------------------- documents


def _write_files(args: argparse.Namespace, source: Source) -> dict[Path, int]:
    if source.cosmos is None:
        raise UsageError(f"the source {source.name} has no Cosmos DB container: send its facts with --events")
    counts = _checked(args.files, cosmos_fault)
    asyncio.run(_write(cosmos_connection(args), source.cosmos, counts))
    return counts


async def _write(connection: str, container: CosmosContainer, counts: Mapping[Path, int]) -> None:
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


# ---------------------------------------------------------------------------------------------------- events


def _send_files(args: argparse.Namespace, source: Source) -> dict[Path, int]:
    from shared.facts.sending import FactEvents

    if source.event_hub is None:
        raise UsageError(f"the source {source.name} has no event hub: load its facts without --events")
    events = FactEvents(source)
    counts = _checked(args.files, lambda fact: _event_fault(events, fact))
    asyncio.run(_send(event_hubs_connection(args), source.event_hub, events, counts))
    return counts


def _event_fault(events: FactEvents, fact: dict[str, Any]) -> str | None:
    try:
        events.event(fact)
    except UnreadableChangeError as error:
        return str(error)
    return None


async def _send(connection: str, hub: str, events: FactEvents, counts: Mapping[Path, int]) -> None:
    from shared.facts.sending import send

    for file, count in counts.items():
        with Progress(file.name, count) as progress:
            await send(connection, hub, map(events.event, facts_in(file, lambda _: None)), progress.advance)
