"""`index-tables build`: build the new generation of an index whose definition has changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.arguments import add_budget_argument, add_command, non_empty
from cli.definitions import add_definitions_argument
from cli.errors import UsageError
from cli.output import write_rows
from cli.service.app_client import add_app_arguments, client_for
from cli.service.building_here import build_here
from cli.service.builds import STATE_COLUMNS, index_state, start_build, state_row, wait_until_built

if TYPE_CHECKING:
    import argparse

    from cli.arguments import Commands

_EXAMPLES: Final = """\
  index-tables build customers-by-town --budget 500
  index-tables build customers-by-town --status --format json
  index-tables build customers-by-town --here
  index-tables build orders-newest-first --from orders.jsonl
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "build",
        run,
        summary="build the new generation of an index",
        description="Bring every fact into the generation that the deployed definition of an index says, while the old "
        "one serves. The app does it, on all its instances; this command waits and shows how far it is.",
        examples=_EXAMPLES,
    )
    parser.add_argument("index", metavar="INDEX", type=non_empty, help="the index to build")
    add_budget_argument(parser)
    parser.add_argument("--no-wait", action="store_true", help="start it and end")
    parser.add_argument("--status", action="store_true", help="start nothing: show how the index stands")
    parser.add_argument("--here", action="store_true", help="do the work in this process, not in the app")
    parser.add_argument(
        "--from",
        dest="events_file",
        metavar="FILE",
        type=Path,
        help="events of a hub that has forgotten them; implies --here",
    )
    parser.add_argument("--azure", action="store_true", help="with --here: the services that the settings connect to")
    add_definitions_argument(parser, "with --here")
    add_app_arguments(parser)


def run(args: argparse.Namespace) -> int:
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
