"""`index-tables query`: look up entries of an index."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command, flag, option
from cli.errors import UsageError
from cli.output import counted, tell, write_rows
from cli.service.app_client import client_for, index_path
from cli.service.lookup_arguments import asked_parameters, lookup_parameters, read_parameters
from cli.sources.fact_files import facts_in
from shared.inputs.page_size import PAGE_SIZE_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

    from cli.arguments import Arguments

_LOOKUPS_OF_A_CALL: Final = 100
_SHARED_OPTIONS: Final = ("maxpagesize", "select", "filter", "expand", "sees")
_COLUMNS: Final = ("id", "partitionKey", "key", "data", "fact", "isReference", "version")
_EXAMPLES: Final = """\
  index-tables query customers-by-town town=Redmond lastName.prefix=J
  index-tables query customers-by-town "filter=data.phone" --in town=Redmond,Kirkland
  index-tables query customers-by-town select=phone --file lookups.jsonl
  index-tables query movies-by-actor "actor=Ingrid Falk" --all --format jsonl
  index-tables query movies-newest-first genre=Drama expand=fact --url https://NAME.azurewebsites.net
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "query",
        run,
        *lookup_parameters(),
        flag("--all", "follow nextLink to the last page"),
        option(
            "--file",
            type=Path,
            metavar="LOOKUPS.jsonl",
            help='lookups, one JSON object per line such as {"town": "Redmond"}: the first page of each, with its line',
        ),
        summary="look up entries of an index",
        description="Look up entries of an index in a running app. Prints one page, or with --all every page.",
        examples=_EXAMPLES,
    )


def run(args: Arguments) -> int:
    """Print the entries; says on stderr when there are more."""
    if args.file is not None:
        return _run_file(args)
    client = client_for(args)
    pages = client.pages(args.index, asked_parameters(client, args))
    read = list(pages if args.all else islice(pages, 1))
    entries = [entry for page in read for entry in page["value"]]
    write_rows(_rows(entries, args.format), _used(entries, args.format), args.format)
    more = "; there are more: add --all, or a larger maxpagesize" if "nextLink" in read[-1] else ""
    secondary = "; read from the secondary endpoint" if any("readFrom" in page for page in read) else ""
    tell(f"{counted(len(entries), 'entry', 'entries')}{more}{secondary}")
    return 0


def _run_file(args: Arguments) -> int:
    """Print the entries of all lookups of a file; exit 1 when some of them failed."""
    if args.all or args.values:
        raise UsageError("--file has lookups of its own: leave out --all and --in, and put lists into the file")
    shared: dict[str, Any] = read_parameters(args.parameters)
    for name in shared.keys() - set(_SHARED_OPTIONS):
        options = ", ".join(_SHARED_OPTIONS)
        raise UsageError(f"{name} is not an option of all lookups ({options}): put conditions into the file")
    if "maxpagesize" in shared and shared["maxpagesize"].isdecimal():
        shared["maxpagesize"] = int(shared["maxpagesize"])
    client, lookups = client_for(args), facts_in(args.file)
    entries: list[dict[str, Any]] = []
    failed = more = line = 0
    while asked := list(islice(lookups, _LOOKUPS_OF_A_CALL)):
        for found in client.post(index_path(args.index, "lookups"), {"lookups": asked, **shared})["value"]:
            line += 1
            entries += [{"lookup": line, **entry} for entry in found.get("value", ())]
            more += "nextLink" in found
            if "error" in found:
                failed += 1
                tell(f"lookup {line}: {found['error']['detail']} ({found['error']['code']})")
    write_rows(_rows(entries, args.format), ["lookup", *_used(entries, args.format)], args.format)
    has_more = f"; {more} of them have more: add maxpagesize={PAGE_SIZE_MAX}, or ask for these alone" if more else ""
    tell(f"{counted(len(entries), 'entry', 'entries')} of {counted(line, 'lookup')}{has_more}")
    return 1 if failed else 0


def _rows(entries: Sequence[dict[str, Any]], output_format: str) -> list[dict[str, Any]]:
    """The entries; for people without what an entry says twice, because it carries its whole fact."""
    return list(map(said_once, entries)) if output_format == "table" else list(entries)


def said_once(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry whose data does not repeat its id and its key."""
    known = {"id": entry.get("id"), **entry["key"]}
    data = {name: value for name, value in entry["data"].items() if name not in known or known[name] != value}
    return {**entry, "data": data or None}


def _used(entries: Sequence[dict[str, Any]], output_format: str) -> list[str]:
    """The columns that some entry has. A version is for programs."""
    found = {name for entry in entries for name in entry} - ({"version"} if output_format == "table" else set())
    return [column for column in _COLUMNS if column in found] or ["id"]
