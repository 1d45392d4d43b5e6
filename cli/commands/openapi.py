"""`index-tables openapi`: write the OpenAPI document of a definitions file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.arguments import add_command
from cli.definitions import definitions_file, definitions_parameters, read, write_findings
from cli.output import tell
from cli.text import json_text

if TYPE_CHECKING:
    import click

    from cli.arguments import Arguments

_EXAMPLES: Final = """\
  index-tables openapi > openapi.json
  index-tables openapi docs/examples/movies.yaml
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "openapi",
        run,
        *definitions_parameters(),
        summary="write the OpenAPI document",
        description="Print the OpenAPI 3.1 document of the app that serves these definitions: as JSON, or with "
        "--format jsonl as JSON in one line. Faults of the file are printed as validate prints them.",
        examples=_EXAMPLES,
        formats=("json", "jsonl"),
    )


def run(args: Arguments) -> int:
    """Print the document; exit 1 for a file with faults."""
    from shared.web.openapi.document import openapi  # no other command needs all that it describes

    loaded = read(definitions_file(args))
    if loaded.faults:
        write_findings(loaded.faults, (), "table")
        tell("no document: fix the faults first")
        return 1
    indent = 2 if args.format == "json" else None
    print(json_text(openapi(loaded.definitions), indent=indent))
    return 0
