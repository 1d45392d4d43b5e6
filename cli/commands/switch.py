"""`index-tables switch` and `rollback`: let another generation of an index serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command, flag
from cli.definitions import index_argument
from cli.output import tell, write_rows
from cli.service.app_client import app_options, client_for, index_path

if TYPE_CHECKING:
    import click

    from cli.arguments import Arguments

_COLUMNS: Final = ("index", "serving", "before", "since")


def add(commands: click.Group) -> None:
    """Declare both commands."""
    add_command(
        commands,
        "switch",
        run_switch,
        index_argument("the index"),
        flag("--force", "also one that is not verified, or lacks facts"),
        *app_options(),
        summary="switch an index to its new generation",
        description="Let lookups use the generation built for a changed definition, on all instances at once. It "
        'must be built and verified. The old one is kept for a while: "rollback" brings it back.',
        examples="  index-tables switch customers-by-town",
    )
    add_command(
        commands,
        "rollback",
        run_rollback,
        index_argument("the index"),
        *app_options(),
        summary="go back to the generation that served before",
        description="Undo a switch, within GRACE_SECONDS (a setting, a day by default).",
        examples="  index-tables rollback customers-by-town",
    )


def run_switch(args: Arguments) -> int:
    """Switch; print what serves from when on."""
    return _post(args, "switch", {"force": True} if args.force else {})


def run_rollback(args: Arguments) -> int:
    """Roll back; print the same."""
    return _post(args, "rollback", {})


def _post(args: Arguments, call: str, body: dict[str, Any]) -> int:
    row = client_for(args, "admin").post(index_path(args.index, call), body)
    write_rows([row], _COLUMNS, args.format)
    tell(f"{row['index']}: {row['serving']} serves from {row['since']} on, and what served before until then")
    return 0
