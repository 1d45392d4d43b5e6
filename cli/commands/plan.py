"""`index-tables plan`: what a changed definitions file would do to the indexes."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from cli.arguments import add_command
from cli.definitions import add_file_argument, read, write_findings
from cli.output import write_rows
from shared.definitions.compare import compare

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from cli.arguments import Commands
    from shared.definitions.compare import Step

_COLUMNS: Final = ("name", "effect", "because", "generation", "table")
_EXAMPLES: Final = """\
  index-tables plan --against <(git show main:indexes.yaml)
  index-tables plan new.yaml --against indexes.yaml --format json
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "plan",
        run,
        summary="show what a changed definitions file would do",
        description="""\
Compare a definitions file with the one that is deployed: which indexes are new, removed or built anew, and
because of which keys. Exit 1 when a change is not allowed.""",
        examples=_EXAMPLES,
    )
    add_file_argument(parser)
    parser.add_argument("--against", metavar="FILE", required=True, help="the definitions that are deployed now")


def run(args: argparse.Namespace) -> int:
    """Print one row per index; exit 1 when a file has faults or a change is not allowed."""
    before, after = read(args.against), read(args.file)
    if before.faults or after.faults:
        write_findings([*before.faults, *after.faults], (), args.format)
        print("nothing to compare: mend the faults first", file=sys.stderr)
        return 1
    steps = compare(before.definitions, after.definitions)
    write_rows([asdict(step) for step in steps], _COLUMNS, args.format)
    print(_summary(steps), file=sys.stderr)
    return 1 if any(step.effect == "not allowed" for step in steps) else 0


def _summary(steps: Sequence[Step]) -> str:
    refused = [step for step in steps if step.effect == "not allowed"]
    if refused:
        names = ", ".join(f"{step.name} ({', '.join(step.because)})" for step in refused)
        return f"not allowed: {names}. A source that tells or orders its facts in another way needs a new name"
    effects = Counter(step.effect for step in steps)
    changed = [f"{number} {effect}" for effect, number in effects.items() if effect != "no change"]
    return ", ".join(changed) if changed else "nothing changes"
