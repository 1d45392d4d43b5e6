"""`index-tables validate`: check a definitions file; every fault at once, and advice."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.arguments import add_command, exclusive, flag, option
from cli.definitions import definitions_file, definitions_parameters, read, write_findings
from cli.errors import UsageError
from cli.infra import Templates, infra_faults
from cli.output import counted, tell, write_rows
from shared.definitions.files import write_compiled

if TYPE_CHECKING:
    import click

    from cli.arguments import Arguments
    from shared.definitions.loading.load import Loaded
    from shared.definitions.model import Definitions

_EXAMPLES: Final = """\
  index-tables validate
  index-tables validate docs/examples/movies.yaml --format json
  index-tables validate --infra  # also: can the templates in infra/ deploy it?
  index-tables validate --events sample.jsonl  # what would each of these events become?
  index-tables validate --compile  # for deployment: the app then starts without YAML
  index-tables validate --schema > docs/indexes.schema.json
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "validate",
        run,
        *definitions_parameters(),
        option(
            "--infra",
            metavar="[DIR]",
            is_flag=False,
            flag_value="infra",
            help="also check that the templates of this folder (default: infra) can deploy it",
        ),
        option(
            "--source",
            metavar="SOURCE",
            help="with --events: a source of the hub that they are from, if there are several",
        ),
        *exclusive(
            flag("--compile", "also write the form that loads fast, FILE.compiled.json"),
            option("--events", metavar="SAMPLES", type=Path, help="one event per line, or a body alone"),
            flag("--schema", "print the JSON Schema of definitions files instead"),
        ),
        summary="check a definitions file",
        description="Check a definitions file: print every fault and all advice. Exit 1 for a fault. With --events, "
        "print instead of advice what events would become; exit 1 if one would be a dead letter.",
        examples=_EXAMPLES,
    )


def run(args: Arguments) -> int:
    """Check the file (or print the schema)."""
    if args.schema:
        return _print_schema()
    if args.source is not None and args.events is None:
        raise UsageError("--source goes with --events")
    file = definitions_file(args)
    loaded = _with_infra(file, read(file), args)
    if loaded.faults or not args.events:  # else what events become is all there is on stdout: one JSON document
        write_findings(loaded.faults, () if args.events else loaded.advice, args.format)
    tell(f"{file}: {_summary(loaded)}")
    if loaded.faults:
        return 1
    if args.events:
        return asyncio.run(_show_samples(args, loaded.definitions))
    if args.compile:
        tell(f"wrote {write_compiled(Path(file))}")
    return 0


async def _show_samples(args: Arguments, definitions: Definitions) -> int:
    from cli.sources.sample_events import COLUMNS, as_text, is_dead_letter, sample_rows

    rows = [row async for row in sample_rows(args.events, definitions, args.source)]
    write_rows(rows, COLUMNS, args.format, as_text)
    dead_letters = sum(map(is_dead_letter, rows))
    tell(f"{args.events}: {counted(dead_letters, 'dead letter')}")
    return 1 if dead_letters else 0


def _with_infra(file: str, loaded: Loaded, args: Arguments) -> Loaded:
    """The same with the faults that deploying would meet. Definitions with faults of their own are not looked at."""
    if args.infra is None or loaded.faults:
        return loaded
    faults = infra_faults(Path(file), loaded.definitions, Templates.read(Path(args.infra)))
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
