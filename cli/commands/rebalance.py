"""`index-tables rebalance`: spread the entries of an index over more, fewer or other shards."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command, budget_option, flag, option, seconds_limit
from cli.commands.apply import bring_up
from cli.commands.plan import STEP_COLUMNS
from cli.definitions import definitions_file, definitions_option, index_argument, read, write_findings
from cli.errors import ServiceError, UsageError
from cli.layout_edit import with_layout
from cli.output import tell, write_rows
from cli.service.app_client import app_options, check_text, client_for
from cli.service.builds import STATE_COLUMNS, index_state, state_row
from cli.service.deployed import has_generation
from shared.definitions.compare import compare
from shared.definitions.loading.load import load

if TYPE_CHECKING:
    import click

    from cli.arguments import Arguments
    from cli.service.app_client import AppClient
    from shared.definitions.compare import MigrationStep
    from shared.definitions.model import Definitions

_SHARDS: Final = range(1, 257)
_POLL_SECONDS: Final = 0.5
_EXAMPLES: Final = """\
  index-tables rebalance customers-by-town --hot Redmond=16  # show what would change
  index-tables rebalance customers-by-town --advised --write  # what "advise" says, into the file
  index-tables rebalance customers-by-town --shards 8 --apply  # and build, verify and switch, once it is deployed
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "rebalance",
        run,
        index_argument("the index to spread"),
        option("--shards", metavar="N", type=int, help="how many shards each partition has (1 to 256)"),
        option("--hot", metavar="VALUE=N", multiple=True, help="a value with its own number"),
        flag("--advised", 'what "index-tables advise" says'),
        definitions_option(),
        flag("--write", "write the file"),
        flag("--apply", "write it, wait until the app has it, and move the index"),
        flag("--read-only", "write only to the new generation while it is built: no way back"),
        option("--wait", metavar="SECONDS", type=seconds_limit, default="900", show_default=True, help="for the app"),
        budget_option(),
        *app_options(),
        summary="spread an index over other shards",
        description="""\
Change "shards" and "hot" of an index in the definitions file, and show what that does. With --apply the index is
moved as soon as the app has the changed file: its new generation is built beside the old one, which serves and is
kept up to date meanwhile, verified, and switched to. With --read-only the old one gets no changes meanwhile, which
saves their writes; lookups see what it had, it cannot be rolled back to, and it goes at once after the switch.""",
        examples=_EXAMPLES,
    )


def run(args: Arguments) -> int:
    """Show the plan, write the file, move the index: as far as was asked for. Exit 1 when it cannot be."""
    file = definitions_file(args)
    loaded = read(file)
    if loaded.faults:
        write_findings(loaded.faults, (), args.format)
        tell("nothing was changed: fix the faults first")
        return 1
    if args.index not in loaded.definitions.indexes:
        known = ", ".join(loaded.definitions.indexes) or "none"
        raise UsageError(f"there is no index {args.index} in {file}: known are {known}")
    shards, hot = _asked(args)
    path = Path(file)
    # As bytes: reading and writing text would change the line ends.
    before = path.read_bytes().decode()
    after = with_layout(before, args.index, shards, hot)
    changed = _checked(loaded.definitions, after, args.index, file)
    (step,) = [step for step in compare(loaded.definitions, changed) if step.name == args.index]
    if not (args.write or args.apply):
        for line in unified_diff(before.splitlines(), after.splitlines(), str(path), str(path), lineterm=""):
            tell(line)
        write_rows([asdict(step)], STEP_COLUMNS, args.format)
        return 0
    if after != before:
        path.write_bytes(after.encode())
        tell(f"{path} is written")
    if not args.apply:
        write_rows([asdict(step)], STEP_COLUMNS, args.format)
        return 0
    return _move(args, step)


def _asked(args: Arguments) -> tuple[int | None, dict[str, int]]:
    """The numbers that were given, or advised."""
    if args.advised:
        return _advised(client_for(args), args.index)
    hot = {}
    for argument in args.hot:
        check_text(argument)
        value, equals, number = argument.rpartition("=")
        if not equals or not number.lstrip("-").isdigit():
            raise UsageError(f"{argument} is not VALUE=N: write for example --hot Redmond=16")
        hot[value] = int(number)
    if args.shards is None and not hot:
        raise UsageError("say what to change: --shards N, --hot VALUE=N or --advised")
    for number in (*hot.values(), *(() if args.shards is None else (args.shards,))):
        if number not in _SHARDS:
            raise UsageError(f"{number} shards are out of range: a partition has 1 to 256")
    return args.shards, hot


def _advised(app: AppClient, index: str) -> tuple[int | None, dict[str, int]]:
    advised = [found for found in app.get("/api/advice", {})["indexes"] if found["name"] == index]
    for advice in [advice for found in advised for advice in found["advice"]]:
        change: dict[str, Any] = advice["change"] or {}
        if "shards" in change or "hot" in change:
            tell(f"{index}: {advice['what']}")
            return change.get("shards"), change.get("hot", {})
    raise ServiceError(f"there is no advice on the layout of {index}: say --shards N or --hot VALUE=N")


def _checked(before: Definitions, text: str, index: str, file: str) -> Definitions:
    """The definitions of the changed text: faultless, and the same but for the layout of the index."""
    loaded = load(text, file)
    if loaded.faults:
        raise UsageError(f"this layout is not possible: {loaded.faults[0].what}. {loaded.faults[0].fix}")
    after = loaded.definitions
    old, new = before.indexes[index], after.indexes[index]
    changed = {name for name in before.indexes if before.indexes[name] != after.indexes[name]}
    if changed - {index} or replace(new, shards=old.shards, hot=old.hot) != old:
        raise UsageError(f'{file} cannot be changed without changing more: set "shards" and "hot" of {index} by hand')
    return after


def _move(args: Arguments, step: MigrationStep) -> int:
    """Wait until the app knows the generation; then build, verify and switch."""
    app = client_for(args, "admin")
    tell(f"{args.index}: waiting for the app to have the file: deploy it (a local run reloads it)")
    deadline = time.monotonic() + args.wait
    while not has_generation(app, args.index, step.generation):
        if time.monotonic() > deadline:
            raise ServiceError(
                f'the app does not have the changed file after {args.wait:g} s: deploy it, then "index-tables apply '
                f'{args.index}"'
            )
        time.sleep(_POLL_SECONDS)
    is_done = bring_up(app, args.index, args.budget, read_only=args.read_only)
    write_rows([state_row(index_state(app, args.index))], STATE_COLUMNS, args.format)
    return 0 if is_done else 1
