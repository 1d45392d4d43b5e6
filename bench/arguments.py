"""What `python -m bench` accepts on its command line."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from bench.comparison import DEFAULT_FLOOR

if TYPE_CHECKING:
    from collections.abc import Sequence

RESULTS = Path(__file__).parent / "results"
LATEST = RESULTS / "latest.json"
BASELINE = RESULTS / "baseline.json"
DEFAULT_ROUNDS = 9


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of one command; a wrong command line ends the program with exit code 2."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="What things cost, against yardsticks measured in the same run."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _run_options(commands.add_parser("run", help="measure, and print a table"))
    commands.add_parser("list", help="say which workloads there are")
    _compare_options(commands.add_parser("compare", help="hold a result against the committed baseline"))
    return parser.parse_args(arguments)


def _run_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("names", nargs="*", metavar="NAME", help="workloads to run (default: all)")
    command.add_argument("--rounds", type=_rounds, default=DEFAULT_ROUNDS, help="default: %(default)s")
    command.add_argument("--scale", type=_scale, default=1.0, help="multiplies the sizes (default: 1)")
    command.add_argument("--format", choices=["table", "json"], default="table", help="what is printed")
    command.add_argument("--out", type=Path, default=LATEST, help="default: bench/results/latest.json")


def _compare_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("result", nargs="?", type=Path, default=LATEST, help="default: the latest run")
    command.add_argument("--baseline", type=Path, default=BASELINE, help="default: the committed one")
    command.add_argument("--workload", action="append", help="compare only this one (may be repeated)")
    command.add_argument(
        "--tolerance",
        type=_tolerance,
        default=DEFAULT_FLOOR,
        help="how much worse a ratio may always be (default: %(default)s); more if the rounds spread more",
    )


def _rounds(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return int(text)


def _scale(text: str) -> float:
    scale = _tolerance(text)
    if scale == 0:
        raise argparse.ArgumentTypeError("a scale of 0 measures nothing: give a number above 0")
    return scale


def _tolerance(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of at least 0")
    return number
