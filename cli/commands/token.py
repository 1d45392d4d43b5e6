"""`index-tables token`: a token for a local run that was started with `--auth entra`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.arguments import add_command, folder
from cli.errors import UsageError
from cli.local_run import DATA_FOLDER, local_run
from cli.service.lookup_arguments import read_parameters
from cli.service.tokens import LIFETIME_SECONDS, new_token

if TYPE_CHECKING:
    import argparse

    from cli.arguments import Commands

_EXAMPLES: Final = """\
  index-tables token --role Index.Read
  index-tables token --role Orders.Read --claim tid=contoso --expires 60
  curl -H "Authorization: Bearer $(index-tables token --role Index.Read)" http://127.0.0.1:7071/api/indexes
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "token",
        run,
        summary="make a token for a local run",
        description="Print a token that a local run takes where Azure takes those of Microsoft Entra ID. Start the run "
        "with `python -m local up --auth entra`.",
        examples=_EXAMPLES,
        formats=("table",),
    )
    parser.add_argument(
        "--data", type=folder, metavar="DIR", help=f"the data folder of the run (default: {DATA_FOLDER})"
    )
    parser.add_argument("--role", action="append", default=[], metavar="R", help="an app role; may be repeated")
    parser.add_argument(
        "--claim", action="append", default=[], metavar="NAME=VALUE", help="a further claim; may be repeated"
    )
    parser.add_argument(
        "--expires",
        type=int,
        default=LIFETIME_SECONDS,
        metavar="SECONDS",
        help="how long it is good for (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Print the token."""
    run = local_run(args.data)
    sign_in = run.sign_in()
    if sign_in is None:
        raise UsageError(f"{run.file} is of a run that takes no tokens: start it with --auth entra")
    print(new_token(sign_in, args.role, read_parameters(args.claim), args.expires))
    return 0
