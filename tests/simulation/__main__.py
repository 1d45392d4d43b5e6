"""`python -m tests.simulation --seeds A:B`: plays random simulations, says what they covered and what was wrong."""

from __future__ import annotations

import logging
import sys
from typing import Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.simulation.random_runs.coverage import lines
from tests.simulation.random_runs.play import Played, play_in

_SEEDS: Final = "A seed, or A:B for the seeds from A up to but not including B."


class Seeds(click.ParamType[range]):
    """`7` or `0:1000`."""

    name = "A:B"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> range:
        """The seeds; fails with a sentence for anything else."""
        start, _, end = str(value).partition(":")
        try:
            seeds = range(int(start), int(end or int(start) + 1))
        except ValueError:
            self.fail(f"{value!r} names no seeds: give a number, or two like 0:1000.", param, ctx)
        if not seeds or seeds.start < 0:
            self.fail(f"{value!r} names no seeds: the second number must be larger than the first.", param, ctx)
        return seeds


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--seeds", type=Seeds(), required=True, help=_SEEDS)
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True, help="How many cores to use.")
def main(seeds: range, processes: int) -> None:
    """Play random simulations of everything that a deployment does, under faults.

    Ends with what the runs covered. Exit code 1: a run was wrong; its trace is printed, with its seed.
    """
    # What the code under test logs of an outage that is simulated is no result.
    logging.disable(logging.WARNING)
    played = Played()
    # Progress goes where it can be left out: standard output is for results.
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        runs = progress.add_task("runs", total=len(seeds))
        for part in play_in(processes, seeds):
            for violation in part.violations:
                click.echo(violation if not played.violations else f"seed {violation.seed}: {violation.problem}")
            played.add(part)
            progress.advance(runs, part.runs)
    click.echo("\n".join(lines(played.coverage)))
    click.echo(f"{played.runs:,} runs, {len(played.violations)} violations")
    sys.exit(1 if played.violations else 0)


if __name__ == "__main__":
    main()
