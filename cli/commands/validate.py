"""`index-tables validate`: check a definitions file; every fault at once, and advice."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.arguments import add_command
from cli.definitions import add_file_argument, read, write_findings
from cli.infra import Templates, infra_faults
from cli.output import counted
from shared.definitions.files import write_compiled

if TYPE_CHECKING:
    import argparse

    from cli.arguments import Commands
    from shared.definitions.loading.load import Loaded

_EXAMPLES: Final = """\
  index-tables validate
  index-tables validate docs/examples/movies.yaml --format json
  index-tables validate --infra            also: can the templates in infra/ deploy it?
  index-tables validate --compile          for deployment: the app then starts without YAML
  index-tables validate --schema > docs/indexes.schema.json
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "validate",
        run,
        summary="check a definitions file",
        description="Check a definitions file: print every fault and all advice. Exit 1 for a fault.",
        examples=_EXAMPLES,
    )
    add_file_argument(parser)
    parser.add_argument(
        "--infra",
        metavar="DIR",
        nargs="?",
        const="infra",
        help="also check that the templates of this folder (default: infra) can deploy it",
    )
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--compile", action="store_true", help="also write the form that loads fast, FILE.compiled.json")
    other.add_argument("--schema", action="store_true", help="print the JSON Schema of definitions files instead")


def run(args: argparse.Namespace) -> int:
    """Check the file (or print the schema)."""
    if args.schema:
        return _print_schema()
    loaded = _with_infra(read(args.file), args)
    write_findings(loaded.faults, loaded.advice, args.format)
    print(f"{args.file}: {_summary(loaded)}", file=sys.stderr)
    if loaded.faults:
        return 1
    if args.compile:
        print(f"wrote {write_compiled(Path(args.file))}", file=sys.stderr)
    return 0


def _with_infra(loaded: Loaded, args: argparse.Namespace) -> Loaded:
    """The same with the faults that deploying would meet. Definitions with faults of their own are not looked at."""
    if args.infra is None or loaded.faults:
        return loaded
    faults = infra_faults(Path(args.file), loaded.definitions, Templates.read(Path(args.infra)))
    return replace(loaded, faults=faults)


def _print_schema() -> int:
    from shared.definitions.loading.schema import json_schema

    print(json_schema(), end="")
    return 0


def _summary(loaded: Loaded) -> str:
    if loaded.faults:
        return f"{counted(len(loaded.faults), 'fault')}; fix and validate again"
    definitions = loaded.definitions
    sources = counted(len(definitions.sources), "source")
    indexes = counted(len(definitions.indexes), "index", "indexes")
    return f"{sources}, {indexes}, no fault, {counted(len(loaded.advice), 'piece')} of advice"
