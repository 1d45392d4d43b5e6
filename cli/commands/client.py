"""`index-tables client`: write typed classes for the indexes of a definitions file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from cli.arguments import add_command, argument, option
from cli.definitions import definitions_file, definitions_parameters, read, write_findings
from cli.output import tell

if TYPE_CHECKING:
    from cli.arguments import Arguments

_LANGUAGES: Final = ("python", "typescript")
_EXAMPLES: Final = """\
  index-tables client python -o indexes.py
  index-tables client typescript -o src/indexes.ts
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "client",
        run,
        argument("language", "of the client: " + " or ".join(_LANGUAGES), "LANGUAGE", type=click.Choice(_LANGUAGES)),
        *definitions_parameters(),
        option("-o", "--output", metavar="FILE", help="where to write (default: standard output)"),
        summary="write typed classes for the clients",
        description="Write a module with a class for each index: its conditions, its key and what it projects, typed. "
        "The clients for Python and TypeScript are in clients/; docs/clients.md shows them.",
        examples=_EXAMPLES,
        formats=(),
    )


def run(args: Arguments) -> int:
    """Write the module; exit 1 for a file with faults."""
    from cli.client_code.python import python_code
    from cli.client_code.typescript import typescript_code

    loaded = read(definitions_file(args))
    if loaded.faults:
        write_findings(loaded.faults, (), "table")
        tell("no client: fix the faults first")
        return 1
    code = {"python": python_code, "typescript": typescript_code}[args.language](loaded.definitions)
    if args.output is None:
        print(code, end="")
    else:
        Path(args.output).write_text(code, encoding="utf-8")
    return 0
