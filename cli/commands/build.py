"""`index-tables build`: build the new generation of an index whose definition has changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.arguments import add_command, budget_option, flag, option
from cli.definitions import definitions_option, index_argument
from cli.errors import UsageError
from cli.output import write_rows
from cli.service.app_client import app_options, client_for
from cli.service.building_here import build_here
from cli.service.builds import STATE_COLUMNS, index_state, start_build, state_row, wait_until_built

if TYPE_CHECKING:
    import click

    from cli.arguments import Arguments

_EXAMPLES: Final = """\
  index-tables build customers-by-town --budget 500
  index-tables build customers-by-town --status --format json
  index-tables build customers-by-town --here
  index-tables build orders-newest-first --from orders.jsonl
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "build",
        run,
        index_argument("the index to build"),
        budget_option(),
        flag("--no-wait", "start it and end"),
        flag("--status", "start nothing: show how the index stands"),
        flag("--here", "do the work in this process, not in the app"),
        option(
            "--from",
            "events_file",
            metavar="FILE",
            type=Path,
            help="events of a hub that has forgotten them; implies --here",
        ),
        flag("--azure", "with --here: the services that the settings connect to"),
        definitions_option("with --here: the definitions file"),
        *app_options(),
        summary="build the new generation of an index",
        description="Fill the new generation of an index, as its deployed definition says, from every fact, while the "
        "old one serves. The app does it, on all its instances; this command waits and shows progress.",
        examples=_EXAMPLES,
    )


def run(args: Arguments) -> int:
    """Start the build, follow it, print the state of the index."""
    if (args.here or args.events_file is not None) and not args.status:
        if args.url or args.key:
            raise UsageError("--here and --from work in this process, without the app: leave --url and --key out")
        write_rows([state_row(build_here(args))], STATE_COLUMNS, args.format)
        return 0
    app = client_for(args, "admin")
    if args.status:
        state = index_state(app, args.index)
    else:
        state = start_build(app, args.index, args.budget)
        if not args.no_wait:
            state = wait_until_built(app, args.index)
    write_rows([state_row(state)], STATE_COLUMNS, args.format)
    return 0
