"""`index-tables switch` and `rollback`: let another generation of an index serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command, non_empty
from cli.output import write_rows
from cli.service.app_client import add_app_arguments, client_for, index_path

if TYPE_CHECKING:
    import argparse

    from cli.arguments import Commands

_COLUMNS: Final = ("index", "serving", "before", "since")


def add(commands: Commands) -> None:
    """Declare both commands."""
    parser = add_command(
        commands,
        "switch",
        run_switch,
        summary="let the new generation of an index serve",
        description="Let the generation that was built for a changed definition serve, from one moment on. It must be "
        "built and verified. The old one is kept for a while: `rollback` brings it back.",
        examples="  index-tables switch customers-by-town",
    )
    parser.add_argument("--force", action="store_true", help="also one that is not verified, or lacks facts")
    _add_common(parser)
    parser = add_command(
        commands,
        "rollback",
        run_rollback,
        summary="let the generation serve that served before",
        description="Take a switch back, as long as the grace is not over (setting GRACE_SECONDS).",
        examples="  index-tables rollback customers-by-town",
    )
    _add_common(parser)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("index", metavar="INDEX", type=non_empty, help="the index")
    add_app_arguments(parser)


def run_switch(args: argparse.Namespace) -> int:
    """Switch; print what serves from when on."""
    return _post(args, "switch", {"force": True} if args.force else {})


def run_rollback(args: argparse.Namespace) -> int:
    """Roll back; print the same."""
    return _post(args, "rollback", {})


def _post(args: argparse.Namespace, call: str, body: dict[str, Any]) -> int:
    write_rows([client_for(args, "admin").post(index_path(args.index, call), body)], _COLUMNS, args.format)
    return 0
