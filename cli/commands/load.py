"""`index-tables load`: write facts from files into the container of a source, or send them to its event hub."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command
from cli.definitions import read
from cli.errors import UsageError
from cli.output import write_rows
from cli.progress import Progress
from cli.sources.connections import (
    add_source_arguments,
    cosmos_account,
    cosmos_connection,
    event_hubs_connection,
    named_source,
    reason_of,
    run_to_end,
)
from cli.sources.fact_files import facts_in
from shared.errors import FactsNotWrittenError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from azure.cosmos.aio import CosmosClient

    from cli.arguments import Commands
    from shared.app.connection_settings import CosmosConnection, EventHubsConnection
    from shared.definitions.model import CosmosContainer, Definitions, Source
    from shared.sources.sending import FactEvents

_EXAMPLES: Final = """\
  index-tables load customers.jsonl --source customers
  index-tables load movies.csv more-movies.json --source movies --data .local
  index-tables load orders.jsonl --source orders --events
  COSMOS__accountEndpoint=https://NAME.documents.azure.com index-tables load facts.jsonl --source customers --azure
  EVENTHUB="Endpoint=sb://...;" index-tables load orders.jsonl --source orders --events --azure
"""
_COLUMNS: Final = ("file", "source", "facts")
# Refusals of Cosmos DB that go away: out of time, moved, too many at once, in each other's way.
_PASSING_STATUSES: Final = frozenset({408, 410, 429, 449})


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "load",
        run,
        summary="write facts into a source's container, or send them to its event hub",
        description=(
            "Write facts from JSON, JSON lines or CSV files into the Cosmos DB container of a source, or send them to "
            "its event hub. Every file is checked before the first fact is written, against the services' limits and "
            "the indexes of the source; facts that are there already are replaced."
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
    definitions = read(args.definitions).require()
    source = named_source(args, definitions)
    try:
        counts = (_send_files if args.events else _write_files)(args, definitions, source)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("not all facts were written: run the same command again") from None
    rows: list[dict[str, Any]] = [
        {"file": str(file), "source": args.source, "facts": count} for file, count in counts.items()
    ]
    write_rows(rows, _COLUMNS, args.format)
    return 0


def _checked(files: list[Path], fault_of: Callable[[dict[str, Any]], str | None]) -> dict[Path, int]:
    """How many facts each file has, once all of them are fine."""
    return {file: sum(1 for _ in facts_in(file, fault_of)) for file in files}


# ---------------------------------------------------------------------------------------------------- documents


def _write_files(args: argparse.Namespace, definitions: Definitions, source: Source) -> dict[Path, int]:
    from cli.sources.fact_checks import DocumentCheck

    if source.cosmos is None:
        raise UsageError(f"the source {source.name} has no Cosmos DB container: send its facts with --events")
    counts = _checked(args.files, DocumentCheck(definitions, source.name).fault_of)
    run_to_end(_write(cosmos_connection(args), source.cosmos, counts))
    return counts


async def _write(connection: CosmosConnection, container: CosmosContainer, counts: Mapping[Path, int]) -> None:
    from azure.core.exceptions import AzureError

    try:
        async with cosmos_account(connection) as client:
            for file, count in counts.items():
                await _write_file(client, container, file, count)
    # The SDK has checks of its own, which raise the latter two.
    except* (AzureError, ValueError, TypeError) as errors:
        raise not_written(errors.exceptions[0]) from None


def not_written(error: Exception) -> FactsNotWrittenError:
    """The error for a load that has ended early; says to repeat it only if that may help."""
    from azure.core.exceptions import ClientAuthenticationError

    status = getattr(error, "status_code", None)
    may_pass = status is None or status >= 500 or status in _PASSING_STATUSES
    is_final = isinstance(error, ClientAuthenticationError | ValueError | TypeError) or not may_pass
    advice = "Fix that, then run the same command again." if is_final else "Run the same command again."
    return FactsNotWrittenError(f"Not all facts were written: {reason_of(error)} {advice}")


async def _write_file(client: CosmosClient, container: CosmosContainer, file: Path, count: int) -> None:
    from shared.sources.upload import upload

    proxy = client.get_database_client(container.database).get_container_client(container.container)
    with Progress(file.name, count) as progress:
        await upload(proxy, facts_in(file), progress.advance)


# ---------------------------------------------------------------------------------------------------- events


def _send_files(args: argparse.Namespace, definitions: Definitions, source: Source) -> dict[Path, int]:
    from cli.sources.fact_checks import EventCheck
    from shared.sources.sending import FactEvents

    if source.event_hub is None:
        raise UsageError(f"the source {source.name} has no event hub: load its facts without --events")
    counts = _checked(args.files, EventCheck(definitions, source.name).fault_of)
    run_to_end(_send(event_hubs_connection(args), source.event_hub, FactEvents(source), counts))
    return counts


async def _send(connection: EventHubsConnection, hub: str, events: FactEvents, counts: Mapping[Path, int]) -> None:
    from azure.core.exceptions import AzureError

    from shared.app.app import app
    from shared.sources.sending import send

    open_hub = partial(app().connections.event_hub_producer, connection)
    try:
        for file, count in counts.items():
            with Progress(file.name, count) as progress:
                await send(open_hub, hub, map(events.event, facts_in(file)), progress.advance)
    except AzureError as error:
        raise not_written(error) from None
