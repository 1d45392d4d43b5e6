"""`index-tables list`: the indexes of an app, with key, state and size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command, flag
from cli.errors import ServiceError
from cli.output import counted, tell, write_rows
from cli.service.app_client import app_options, client_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import click

    from cli.arguments import Arguments
    from cli.service.app_client import AppClient

_COLUMNS: Final = ("index", "key", "source", "state", "generation")
_IN_A_TABLE: Final = ("index", "key", "source", "state")
_SIZES: Final = ("entries", "bytes")
_EXAMPLES: Final = """\
  index-tables list
  index-tables list --no-size --format jsonl
  index-tables list --url https://NAME.azurewebsites.net
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "list",
        run,
        flag("--no-size", "do not look at the tables"),
        *app_options(),
        summary="list the indexes with key, state and size",
        description='List the indexes of an app: the parts that a lookup gives and, behind the "|", those that it may '
        "go on with; whether it serves; about how many entries it has, and their size. Sizes come from a sample, which "
        "costs some 20 storage transactions for each index.",
        examples=_EXAMPLES,
    )


def run(args: Arguments) -> int:
    """Print one row for each index."""
    app = client_for(args)
    indexes = app.get("/api/indexes", {})["value"]
    sizes = {} if args.no_size else _sizes(app)
    rows = [{**_row(index), **sizes.get(index["name"], {})} for index in indexes]
    columns = _IN_A_TABLE if args.format == "table" else _COLUMNS
    write_rows(rows, (*columns, *(_SIZES if sizes else ())), args.format)
    tell(counted(len(rows), "index", "indexes"))
    return 0


def _row(index: Mapping[str, Any]) -> dict[str, Any]:
    partition, sort = ", ".join(_parts(index["partition"])), ", ".join(_parts(index["sort"]))
    return {
        "index": index["name"],
        "key": f"{partition} | {sort}" if sort else partition,
        "source": index["source"],
        "state": index["state"],
        "generation": index["generation"],
    }


def _parts(parts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for part in parts:
        yield f"{part['name']} desc" if part["order"] == "desc" else part["name"]


def _sizes(app: AppClient) -> dict[str, dict[str, int]]:
    """Entries and bytes by index; nothing, with the reason, when the app cannot look."""
    try:
        found = app.get("/api/advice", {})["indexes"]
    except ServiceError as error:
        tell(f"index-tables: sizes are not known: {error}")
        return {}
    sizes = {index["name"]: index["statistics"] for index in found}
    return {
        name: {"entries": size["entries"], "bytes": size["entries"] * (size["entryBytes"] or 0)}
        for name, size in sizes.items()
    }
