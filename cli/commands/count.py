"""`index-tables count`: how many entries a lookup would find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.arguments import add_command
from cli.output import tell, write_rows
from cli.service.app_client import client_for, index_path
from cli.service.lookup_arguments import asked_parameters, lookup_parameters

if TYPE_CHECKING:
    import click

    from cli.arguments import Arguments

_EXAMPLES: Final = """\
  index-tables count customers-by-town town=Redmond lastName.prefix=J
  index-tables count customers-by-town --in town=Redmond,Kirkland
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "count",
        run,
        *lookup_parameters(),
        summary="count entries of an index",
        description="Count the entries that a lookup would find in a running app, by reading keys only. "
        "Of more than 100 000 rows it counts the first, and says so.",
        examples=_EXAMPLES,
    )


def run(args: Arguments) -> int:
    """Print the number; says on stderr when there are more."""
    client = client_for(args)
    counted = client.get(index_path(args.index, "count"), asked_parameters(client, args))
    write_rows([counted], ["count", "isExact"], args.format, lambda row: str(row["count"]))
    if not counted["isExact"]:
        tell("there are more, or entries moved while they were counted")
    return 0
