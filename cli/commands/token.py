"""`index-tables token`: a token for a local run that was started with `--auth entra`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.arguments import add_command, option
from cli.errors import UsageError
from cli.local_run import data_option, local_run
from cli.service.lookup_arguments import read_parameters
from cli.service.tokens import LIFETIME_SECONDS, new_token

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

    from cli.arguments import Arguments

_EXAMPLES: Final = """\
  index-tables token --role Index.Read
  index-tables token --role Orders.Read --claim tid=contoso --expires 60
  curl -H "Authorization: Bearer $(index-tables token --role Index.Read)" http://127.0.0.1:7071/api/indexes
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "token",
        run,
        data_option(),
        option("--role", "roles", multiple=True, metavar="R", help="an app role; may be repeated"),
        option(
            "--claim",
            "claims",
            multiple=True,
            metavar="NAME=VALUE",
            help="a further claim; repeated, it has several values",
        ),
        option(
            "--expires",
            type=int,
            default=LIFETIME_SECONDS,
            show_default=True,
            metavar="SECONDS",
            help="how long it is valid",
        ),
        summary="make a token for a local run",
        description="Print a token that a local run takes where Azure takes those of Microsoft Entra ID. Start the run "
        'with "python -m local up --auth entra".',
        examples=_EXAMPLES,
        formats=("table",),
    )


def run(args: Arguments) -> int:
    """Print the token."""
    run = local_run(args.data)
    sign_in = run.sign_in()
    if sign_in is None:
        raise UsageError(f"{run.file} is of a run that takes no tokens: start it with --auth entra")
    print(new_token(sign_in, args.roles, _claims(args.claims), args.expires))
    return 0


def _claims(pairs: Sequence[str]) -> dict[str, str | list[str]]:
    """Claims by name, such as groups: a list of those that are given more than once."""
    values: dict[str, list[str]] = {}
    for pair in pairs:
        for name, value in read_parameters([pair]).items():
            values.setdefault(name, []).append(value)
    return {name: given[0] if len(given) == 1 else given for name, given in values.items()}
