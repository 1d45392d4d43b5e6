"""`index-tables client`: write typed classes for the indexes of a definitions file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.arguments import add_group
from cli.definitions import add_file_argument, read, write_findings

if TYPE_CHECKING:
    import argparse

    from cli.arguments import Commands

_EXAMPLES: Final = """\
  index-tables client python -o indexes.py
  index-tables client typescript -o src/indexes.ts
"""


def add(commands: Commands) -> None:
    """Declare the commands, one for each language."""
    group = add_group(
        commands,
        "client",
        summary="write typed classes for the clients",
        description="Write a module with a class for each index: its conditions, its key and what it projects, typed. "
        "The clients for Python and TypeScript are in clients/; docs/clients.md shows them.",
        examples=_EXAMPLES,
    )
    for language in ("python", "typescript"):
        parser = group.add_parser(language, help=f"for the {language.capitalize()} client")
        add_file_argument(parser)
        parser.add_argument("-o", "--output", metavar="FILE", help="where to write (default: standard output)")
        parser.set_defaults(run=run, language=language)


def run(args: argparse.Namespace) -> int:
    """Write the module; exit 1 for a file with faults."""
    from cli.client_code.python import python_code
    from cli.client_code.typescript import typescript_code

    loaded = read(args.file)
    if loaded.faults:
        write_findings(loaded.faults, (), "table")
        print("no client: fix the faults first", file=sys.stderr)
        return 1
    code = {"python": python_code, "typescript": typescript_code}[args.language](loaded.definitions)
    if args.output is None:
        print(code, end="")
    else:
        Path(args.output).write_text(code, encoding="utf-8")
    return 0
