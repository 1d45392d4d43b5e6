"""`index-tables load`: write facts from files into the container of a source, or send them to its event hub."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command, argument, flag, option
from cli.definitions import definitions_file, read, source_option
from cli.errors import UsageError
from cli.output import write_rows
from cli.progress import Progress
from cli.sources.connections import (
    cosmos_account,
    cosmos_connection,
    event_hubs_connection,
    named_source,
    reason_of,
    run_to_end,
    source_options,
)
from cli.sources.csv_files import CELL_TYPES, read_types
from cli.sources.fact_files import FactFiles
from shared.errors import FactsNotWrittenError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import click
    from azure.cosmos.aio import CosmosClient

    from cli.arguments import Arguments
    from shared.app.connection_settings import CosmosConnection, EventHubsConnection
    from shared.definitions.model import CosmosContainer, Definitions, Source
    from shared.sources.sending import FactEvents

_EXAMPLES: Final = """\
  index-tables load customers.jsonl --source customers
  index-tables load movies.csv more-movies.json --source movies --data .local
  index-tables load airports.csv --source airports --id iata --types elevation=integer,isOpen=boolean
  index-tables load orders.jsonl --source orders
  COSMOS__accountEndpoint=https://NAME.documents.azure.com index-tables load facts.jsonl --source customers --azure
  EVENTHUB="Endpoint=sb://...;" index-tables load orders.jsonl --source orders --events --azure
"""
_COLUMNS: Final = ("file", "source", "facts")
# Refusals of Cosmos DB that go away: out of time, moved, too many at once, in each other's way.
_PASSING_STATUSES: Final = frozenset({408, 410, 429, 449})


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "load",
        run,
        argument("files", ".json, .jsonl or .csv", "FILE", nargs=-1, required=True, type=Path),
        flag("--events", "send them as events, keyed by fact key, to the source's event hub"),
        source_option("the source, as the definitions call it", required=True),
        option("--id", "identity", metavar="FIELD", help="the field that is the id of a fact"),
        option(
            "--types",
            metavar="NAME=TYPE,...",
            multiple=True,
            help=f"types of CSV columns: {', '.join(CELL_TYPES)}; or auto for all of them (default: string)",
        ),
        *source_options(),
        summary="write facts into a source's container, or send them to its event hub",
        description=(
            "Write facts from JSON, JSON lines or CSV files into the Cosmos DB container of a source, or send them to "
            "its event hub. Every file is checked before the first fact is written, against the services' limits and "
            "the indexes of the source; facts that are there already are replaced."
        ),
        examples=_EXAMPLES,
    )


def run(args: Arguments) -> int:
    """Check all files, then write them one after the other."""
    definitions = read(definitions_file(args)).require()
    source = named_source(args, definitions)
    files = FactFiles(read_types(args.types), args.identity)
    try:
        write = _send_files if args.events or source.cosmos is None else _write_files
        counts = write(args, definitions, source, files)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("not all facts were written: run the same command again") from None
    rows: list[dict[str, Any]] = [
        {"file": str(file), "source": args.source, "facts": count} for file, count in counts.items()
    ]
    write_rows(rows, _COLUMNS, args.format)
    return 0


# ---------------------------------------------------------------------------------------------------- documents


def _write_files(args: Arguments, definitions: Definitions, source: Source, files: FactFiles) -> dict[Path, int]:
    from cli.sources.fact_checks import DocumentCheck

    assert source.cosmos is not None
    counts = files.checked(args.files, DocumentCheck(definitions, source.name).fault_of)
    run_to_end(_write(cosmos_connection(args), source.cosmos, files, counts))
    return counts


async def _write(
    connection: CosmosConnection, container: CosmosContainer, files: FactFiles, counts: Mapping[Path, int]
) -> None:
    from azure.core.exceptions import AzureError

    try:
        async with cosmos_account(connection) as client:
            for file, count in counts.items():
                await _write_file(client, container, file, files.facts(file), count)
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


async def _write_file(
    client: CosmosClient, container: CosmosContainer, file: Path, facts: Iterator[dict[str, Any]], count: int
) -> None:
    from shared.sources.upload import upload

    proxy = client.get_database_client(container.database).get_container_client(container.container)
    with Progress(file.name, count) as progress:
        await upload(proxy, facts, progress.advance)


# ---------------------------------------------------------------------------------------------------- events


def _send_files(args: Arguments, definitions: Definitions, source: Source, files: FactFiles) -> dict[Path, int]:
    from cli.sources.fact_checks import EventCheck
    from shared.sources.sending import FactEvents

    if source.event_hub is None:
        raise UsageError(f"the source {source.name} has no event hub: load its facts without --events")
    counts = files.checked(args.files, EventCheck(definitions, source.name).fault_of)
    run_to_end(_send(event_hubs_connection(args), source.event_hub, FactEvents(source), files, counts))
    return counts


async def _send(
    connection: EventHubsConnection, hub: str, events: FactEvents, files: FactFiles, counts: Mapping[Path, int]
) -> None:
    from azure.core.exceptions import AzureError

    from shared.app.app import app
    from shared.sources.sending import send

    open_hub = partial(app().connections.event_hub_producer, connection)
    try:
        for file, count in counts.items():
            with Progress(file.name, count) as progress:
                await send(open_hub, hub, map(events.event, files.facts(file)), progress.advance)
    except AzureError as error:
        raise not_written(error) from None
