"""`index-tables advise`: what the Index Table pattern warns of, with the numbers of a running app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command, flag
from cli.definitions import index_argument
from cli.errors import UsageError
from cli.output import counted, tell, what_and_fix, wrapped, write_rows
from cli.service.app_client import app_options, client_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    import click

    from cli.arguments import Arguments
    from cli.output import Row

_COLUMNS: Final = ("index", "code", "what", "mend", "dollarsPerMonth", "change")
_NUMBERS: Final = ("index", "entries", "partitions", "largestShare", "top", "entryBytes", "lookups", "changesPerLookup")
_CENT: Final = 0.01
_EXAMPLES: Final = """\
  index-tables advise
  index-tables advise customers-by-town --format json
  index-tables advise --numbers  # the statistics behind it
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "advise",
        run,
        index_argument("only this index", required=False),
        flag("--numbers", "print the statistics instead of the advice"),
        *app_options(),
        summary="give advice on indexes, with the numbers",
        description="""\
Look at a sample of every index and at its counters: too few values, a hot partition, more writes than lookups,
no lookups, partitions that only grow, entries that are too large. Says what to do, and what that costs or saves
per month. Costs at most 50 storage transactions per source and some 20 per index.""",
        examples=_EXAMPLES,
    )


def run(args: Arguments) -> int:
    """Print advice, or numbers; advice is no problem, so the exit code is 0."""
    indexes = client_for(args).get("/api/advice", {})["indexes"]
    if args.index is not None:
        known = [index["name"] for index in indexes]
        indexes = [index for index in indexes if index["name"] == args.index]
        if not indexes:
            raise UsageError(f"there is no index {args.index}: known are {', '.join(known) or 'none'}")
    if args.numbers:
        write_rows([_numbers(index) for index in indexes], _NUMBERS, args.format)
        return 0
    rows = list(_advice(indexes))
    write_rows(rows, _COLUMNS, args.format, _as_text)
    tell(_summary(len(rows), len(indexes)))
    return 0


def _advice(indexes: Iterable[dict[str, Any]]) -> Iterable[Row]:
    for index in indexes:
        for advice in index["advice"]:
            yield {"index": index["name"], **advice}


def _numbers(index: dict[str, Any]) -> Row:
    statistics = index["statistics"]
    top = [f"{_values(partition['values'])} {partition['share']:.0%}" for partition in statistics["top"]]
    return {"index": index["name"], **statistics, **index["usage"], "top": top}


def _values(values: dict[str, Any]) -> str:
    return "/".join(map(str, values.values()))


def _as_text(row: Row) -> str:
    lines = [f"{row['index']}: {row['code']}", wrapped(what_and_fix(row), "    ")]
    dollars = row["dollarsPerMonth"]
    if dollars is not None:
        amount = f"about {abs(dollars):,.2f} dollars" if abs(dollars) >= _CENT else "less than a cent"
        lines.append(f"    {'Costs' if dollars >= 0 else 'Saves'} {amount} a month.")
    return "\n".join(lines)


def _summary(pieces: int, indexes: int) -> str:
    if not pieces:
        return f"nothing to advise on {counted(indexes, 'index', 'indexes')}"
    return f"{counted(pieces, 'piece')} of advice on {counted(indexes, 'index', 'indexes')}"
