"""`index-tables dead-letters`: list, show, replay and purge what could not be indexed."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command, add_group, argument, flag, non_empty, option
from cli.errors import UsageError
from cli.output import agrees, counted, tell, wrapped, write_rows
from cli.service.app_client import app_options, client_for, path_segment
from cli.text import json_text

if TYPE_CHECKING:
    import click

    from cli.arguments import Arguments, Option
    from cli.output import Row

_PATH: Final = "/api/dead-letters"
_FILTERS: Final = ("source", "index", "kind", "reason")
_COLUMNS: Final = ("id", "source", "index", "kind", "failedAt", "fact", "version", "reason")
_IN_A_TABLE: Final = ("id", "source", "index", "kind", "failedAt", "fact")
_OUTCOMES: Final = ("id", "source", "index", "outcome", "detail")
_DOCUMENT: Final = "document"


def add(commands: click.Group) -> None:
    """Declare the commands."""
    group = add_group(
        commands,
        "dead-letters",
        summary="list, show, replay and purge dead letters",
        description="Dead letters are changes that could not be indexed. All of these commands need the admin key.",
        examples="  index-tables dead-letters list\n  index-tables dead-letters replay --kind wrongType\n",
    )
    _add_readers(group)
    _add_changers(group)


def _add_readers(group: click.Group) -> None:
    add_command(
        group,
        "list",
        run_list,
        *_filter_options(),
        flag("--all", "follow nextLink to the last page"),
        *app_options(),
        summary="list dead letters",
        description="List dead letters with their reasons. Prints one page, or with --all every page.",
        examples="  index-tables dead-letters list --index customers-by-age\n"
        "  index-tables dead-letters list --kind wrongType --all --format csv\n",
    )
    add_command(
        group,
        "show",
        run_show,
        argument("id", 'its id, as "list" prints it', "ID", type=non_empty),
        *app_options(),
        summary="show one dead letter with its document",
        description="Show one dead letter with the document that could not be indexed.",
        examples="  index-tables dead-letters show 3f2a9c0d1e4b5a697887766554433221\n",
    )


def _add_changers(group: click.Group) -> None:
    add_command(
        group,
        "replay",
        run_replay,
        argument("id", "one dead letter", "ID", type=non_empty, required=False),
        *_filter_options(),
        flag("--all", "every dead letter"),
        *app_options(),
        summary="apply the changes of dead letters again",
        description="Apply the change that a dead letter keeps again: one by its id, those that a filter names, or "
        "all of them. Exit 1 when some still fail or are refused.",
        examples="  index-tables dead-letters replay 3f2a9c0d1e4b5a697887766554433221\n"
        "  index-tables dead-letters replay --index customers-by-age --kind wrongType\n"
        "  index-tables dead-letters replay --all\n",
    )
    add_command(
        group,
        "purge",
        run_purge,
        *_filter_options(),
        option("--older-than", metavar="DAYS", type=int, help="0 forgets all that the filter names"),
        flag("--yes", "do not ask"),
        *app_options(),
        summary="forget old dead letters",
        description="Forget dead letters that are older than DEAD_LETTER_RETENTION_DAYS, or than --older-than. Their "
        "facts stay out of the index until they change. At a terminal it asks first.",
        examples="  index-tables dead-letters purge\n"
        "  index-tables dead-letters purge --source orders --older-than 3\n",
    )


def _filter_options() -> tuple[Option, ...]:
    kinds = "only those with this kind of reason, such as wrongType or unreadable"
    return (
        option("--source", metavar="SOURCE", type=non_empty, help="only those of this source"),
        option("--index", metavar="INDEX", type=non_empty, help="only those of this index"),
        option("--kind", metavar="KIND", type=non_empty, help=kinds),
        option("--reason", metavar="TEXT", type=non_empty, help="only those whose reason contains this text"),
    )


def _filters(args: Arguments) -> dict[str, str]:
    given = {name: getattr(args, name) for name in _FILTERS}
    return {name: value for name, value in given.items() if value is not None}


def run_list(args: Arguments) -> int:
    """Print a page of dead letters, or all; says on stderr when there are more."""
    pages = client_for(args, "admin").all_pages(_PATH, _filters(args))
    read = list(pages if args.all else islice(pages, 1))
    dead_letters = [dead_letter for page in read for dead_letter in page["value"]]
    write_rows(dead_letters, _IN_A_TABLE if args.format == "table" else _COLUMNS, args.format)
    more = "; there are more: add --all" if "nextLink" in read[-1] else ""
    tell(f"{_counted(len(dead_letters))}{more}")
    return 0


def run_show(args: Arguments) -> int:
    """Print one dead letter."""
    dead_letter = client_for(args, "admin").get(f"{_PATH}/{path_segment(args.id)}", {})
    write_rows([dead_letter], (*_COLUMNS, _DOCUMENT), args.format, _as_text)
    return 0


def run_replay(args: Arguments) -> int:
    """Replay, and print the outcome of each dead letter."""
    filters = _filters(args)
    if sum((args.id is not None, bool(filters), args.all)) != 1:
        raise UsageError("say which: an ID, or a filter such as --kind, or --all; one of them")
    app = client_for(args, "admin")
    if args.id is not None:
        done = [app.get_link(f"{app.base}{_PATH}/{path_segment(args.id)}/replay", "POST")]
    else:
        done = [each for page in app.all_pages(f"{_PATH}/replay", filters, "POST") for each in page["value"]]
    write_rows(done, _OUTCOMES, args.format)
    counts = Counter(each["outcome"] for each in done)
    summary = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    tell(f"{_counted(len(done))} replayed{': ' if summary else ''}{summary}")
    return 1 if counts["stillFails"] or counts["refused"] else 0


def run_purge(args: Arguments) -> int:
    """Forget, page by page, and print how many."""
    parameters = _filters(args)
    if args.older_than is not None:
        parameters["olderThanDays"] = str(args.older_than)
    app = client_for(args, "admin")
    if not (args.yes or agrees(_question(args))):
        tell("nothing was forgotten")
        return 1
    pages = app.all_pages(f"{_PATH}/purge", parameters, "POST")
    purged = sum(page["purged"] for page in pages)
    write_rows([{"purged": purged}], ("purged",), args.format)
    return 0


def _question(args: Arguments) -> str:
    filters = ", ".join(f"{name} {value!r}" for name, value in _filters(args).items())
    age = "past their retention" if args.older_than is None else f"older than {counted(args.older_than, 'day')}"
    return f"Forget all dead letters {age}{f' with {filters}' if filters else ''}?"


def _counted(number: int) -> str:
    return counted(number, "dead letter")


def _as_text(row: Row) -> str:
    lines = [f"{name}: {_value(row[name])}" for name in _IN_A_TABLE if name in row]
    lines += [wrapped(row["reason"], "    "), json_text(row[_DOCUMENT], indent=2)]
    return "\n".join(lines)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)
