"""`index-tables build`: build the new generation of an index whose definition has changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_budget_argument, add_command, named
from cli.errors import UsageError
from cli.output import write_rows
from cli.service.building_here import build_here
from cli.service.builds import COLUMNS, row, standing, wait_until_built
from cli.service.service import add_service_arguments, lookup_path, service_of
from shared.app import settings

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
    parser.add_argument("index", metavar="INDEX", type=named, help="the index to build")
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
    parser.add_argument(
        "--definitions",
        metavar="FILE",
        default=settings.Settings().value(settings.INDEX_DEFINITIONS),
        help="with --here",
    )
    add_service_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Start the build, follow it, print how the index stands."""
    if (args.here or args.events_file is not None) and not args.status:
        if args.url or args.key:
            raise UsageError("--here and --from work in this process, without the app: leave --url and --key out")
        write_rows([row(build_here(args))], COLUMNS, args.format)
        return 0
    service = service_of(args, "admin")
    if args.status:
        state = standing(service, args.index)
    else:
        body: dict[str, Any] = {} if args.budget is None else {"budget": args.budget}
        state = service.post(lookup_path(args.index, "builds"), body)
        if not args.no_wait:
            state = wait_until_built(service, args.index)
    write_rows([row(state)], COLUMNS, args.format)
    return 0
