"""`index-tables query`: look up entries of an index."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command
from cli.output import counted, write_rows
from cli.service.app_client import add_lookup_arguments, client_for, read_parameters

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from cli.arguments import Commands

_COLUMNS: Final = ("id", "partitionKey", "key", "data", "fact", "isReference", "version")
_EXAMPLES: Final = """\
  index-tables query customers-by-town town=Redmond lastName.prefix=S
  index-tables query movies-by-actor "actor=Ingrid Falk" --all --format jsonl
  index-tables query movies-newest-first genre=Drama expand=fact --url https://NAME.azurewebsites.net
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "query",
        run,
        summary="look up entries of an index",
        description="Look up entries of an index in a running app. Prints one page, or with --all every page.",
        examples=_EXAMPLES,
    )
    add_lookup_arguments(parser)
    parser.add_argument("--all", action="store_true", help="follow nextLink to the last page")


def run(args: argparse.Namespace) -> int:
    """Print the entries; says on stderr when there are more."""
    pages = client_for(args).pages(args.index, read_parameters(args.parameters))
    read = list(pages if args.all else islice(pages, 1))
    entries = [entry for page in read for entry in page["value"]]
    write_rows(entries, _used(entries), args.format)
    more = "; there are more: add --all, or a larger maxpagesize" if "nextLink" in read[-1] else ""
    secondary = "; read from the secondary endpoint" if any("readFrom" in page for page in read) else ""
    print(f"{counted(len(entries), 'entry', 'entries')}{more}{secondary}", file=sys.stderr)
    return 0


def _used(entries: Sequence[dict[str, Any]]) -> list[str]:
    """The columns that some entry has; all of the usual ones for no entries."""
    found = {name for entry in entries for name in entry}
    return [column for column in _COLUMNS if column in found] or ["id"]
