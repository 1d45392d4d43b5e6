"""`index-tables plan`: what a changed definitions file would do to the indexes."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from cli.arguments import add_command, option
from cli.definitions import definitions_file, definitions_parameters, read, write_findings
from cli.errors import ServiceError, UsageError
from cli.output import tell, write_rows
from cli.service.app_client import app_options, client_for
from shared.definitions.compare import compare, compare_served
from shared.monitoring.prices import read_prices

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

    from cli.arguments import Arguments
    from cli.service.app_client import AppClient
    from shared.definitions.compare import MigrationStep

STEP_COLUMNS: Final = ("name", "effect", "because", "generation", "table")
_COST_COLUMNS: Final = ("transactions", "dollars")
_EXAMPLES: Final = """\
  index-tables plan
  index-tables plan --url https://NAME.azurewebsites.net --facts 10000000
  index-tables plan --against <(git show main:indexes.yaml)
  index-tables plan new.yaml --against indexes.yaml --format json
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "plan",
        run,
        *definitions_parameters(),
        option("--against", metavar="FILE", help="the definitions that are deployed now, instead of an app"),
        option("--facts", metavar="N", type=int, help="how many facts there are: then builds have a price"),
        *app_options(),
        summary="show what a changed definitions file would do",
        description="""\
Compare a definitions file with what a running app serves, or with another file: which indexes are new, removed
or built anew, because of which keys, and what their builds cost (with --facts). Exit 1 when a
change is not allowed.""",
        examples=_EXAMPLES,
    )


def run(args: Arguments) -> int:
    """Print one row per index; exit 1 when a file has faults or a change is not allowed."""
    if args.facts is not None and args.facts < 0:
        raise UsageError("--facts is a number of facts from 0 up")
    before = None if args.against is None else read(args.against)
    after = read(definitions_file(args))
    if after.faults or (before is not None and before.faults):
        write_findings([*(before.faults if before else ()), *after.faults], (), args.format)
        tell("nothing to compare: fix the faults first")
        return 1
    if before is None:
        app = client_for(args)
        served = app.get("/api/indexes", {})["value"]
        generations = {index["name"]: index["generation"] for index in served}
        # An app of an older version does not have them.
        identities = {index["source"]: index.get("identity", {}) for index in served}
        digests = {index["name"]: index.get("digests", {}) for index in served if index["generation"]}
        steps = compare_served(generations, identities, after.definitions, digests)
        limits = _limits(app)
    else:
        steps = compare(before.definitions, after.definitions)
        limits = []
    rows = [asdict(step) for step in steps]
    if args.facts is not None:
        rows = [{**row, **_cost(step, args.facts)} for row, step in zip(rows, steps, strict=True)]
    write_rows(rows, STEP_COLUMNS if args.facts is None else (*STEP_COLUMNS, *_COST_COLUMNS), args.format)
    for limit in limits:
        tell(f"warning: {limit}")
    tell(_summary(steps))
    return 1 if any(step.effect == "not allowed" for step in steps) else 0


def _limits(app: AppClient) -> list[str]:
    """What limits the app before anything changes, such as several write regions. Only operators may ask."""
    try:
        limits: list[str] = app.get("/api/health/details", {}).get("limits", [])
    except ServiceError:
        return []  # it is not ready, not told to this caller, or of an older version
    return limits


def _cost(step: MigrationStep, facts: int) -> dict[str, str]:
    """What a build costs, one entry per fact: from keys that share partitions to keys that share none."""
    if step.effect not in ("new index", "new generation"):
        return {}
    price = read_prices()["tableTransactions"]
    # Every fact is read twice, a thousand at a time, and claimed and written, a hundred at a time or alone.
    least, most = facts * (2 / 1000 + 2 / 100), facts * (1 + 1 / 100 + 1 / 1000 + 1)
    return {
        "transactions": f"{least:,.0f} to {most:,.0f}",
        "dollars": f"{price.of(least):.2f} to {price.of(most):.2f}",
    }


def _summary(steps: Sequence[MigrationStep]) -> str:
    refused = [step for step in steps if step.effect == "not allowed"]
    if refused:
        names = ", ".join(f"{step.name} ({', '.join(step.because)})" for step in refused)
        return f"not allowed: {names}. A source that tells or orders its facts in another way needs a new name"
    effects = Counter(step.effect for step in steps)
    changed = [f"{number} {effect}" for effect, number in effects.items() if effect != "no change"]
    return ", ".join(changed) if changed else "nothing changes"
