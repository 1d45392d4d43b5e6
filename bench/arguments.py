"""What `python -m bench` accepts on its command line."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure.comparison import DEFAULT_FLOOR
from bench.measure.result import BASELINE, LATEST

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_ROUNDS = 5


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of one command; a wrong command line ends the program with exit code 2."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="What things cost, against yardsticks measured in the same run."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _run_options(commands.add_parser("run", help="measure, and print a table"))
    commands.add_parser("list", help="say which workloads there are")
    _compare_options(commands.add_parser("compare", help="hold a result against the committed baseline"))
    commands.add_parser("baseline", help="make the latest run, which must be a full one, the baseline")
    commands.add_parser(
        "report", help="write docs/performance.md, its charts and the README's numbers from the baseline"
    )
    _scale_options(
        commands.add_parser(
            "scale",
            help="simulate a load on Azure from measured operation counts",
            epilog="Example: python -m bench scale --facts 50000000 --changes-per-second 800 --keys shared",
        )
    )
    return parser.parse_args(arguments)


def _run_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("names", nargs="*", metavar="NAME", help="workloads to run (default: all)")
    command.add_argument("--rounds", type=_rounds, default=DEFAULT_ROUNDS, help="default: %(default)s")
    command.add_argument("--scale", type=_above_zero, default=1.0, help="multiplies the sizes (default: 1)")
    command.add_argument(
        "--format",
        choices=["table", "details", "json"],
        default="table",
        help="lines with verdicts, every case with its spreads, or the result itself",
    )
    command.add_argument(
        "--distance",
        type=_named,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="how far `distance` is: median_seconds, spread, slow_share, slow_times, account_calls, partition_rows",
    )
    command.add_argument("--out", type=Path, default=LATEST, help="default: bench/results/latest.json")


def _compare_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("result", nargs="?", type=Path, default=LATEST, help="default: the latest run")
    command.add_argument("--baseline", type=Path, default=BASELINE, help="default: the committed one")
    command.add_argument("--workload", action="append", help="compare only this one (may be repeated)")
    command.add_argument(
        "--tolerance",
        type=_at_least_zero,
        default=DEFAULT_FLOOR,
        help="how much worse a ratio may always be (default: %(default)s); more if the rounds spread more",
    )


def _scale_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add(
        "--facts",
        type=_above_zero,
        action="append",
        help="may be repeated (default: 10 million to 10 billion)",
    )
    add("--changes-per-second", type=_above_zero, help="default: every fact once a day")
    add("--lookups-per-second", type=_at_least_zero, help="default: every fact once a day")
    add("--indexes", type=_rounds, default=3, help="default: %(default)s")
    add("--keys", choices=["scattered", "shared"], default="scattered", help="whether facts share index partitions")
    add(
        "--hot-share",
        type=_at_least_zero,
        default=0.001,
        help="of an index under one value (default: %(default)s)",
    )
    add("--shards", type=_rounds, default=1, help="of that value (default: %(default)s)")
    add("--call-ms", type=_above_zero, default=10.0, help="latency of a storage call (default: %(default)s)")
    add("--calls-at-once", type=_rounds, help="of an instance (default: as measured)")
    add("--poll-seconds", type=_above_zero, default=1.0, help="between looks at a drained feed (default: %(default)s)")
    add("--result", type=Path, default=BASELINE, help="the measured run (default: the committed baseline)")


def _named(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    return name.strip(), value.strip()


def _rounds(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return int(text)


def _above_zero(text: str) -> float:
    number = _at_least_zero(text)
    if number == 0:
        raise argparse.ArgumentTypeError("0 measures nothing: give a number above 0")
    return number


def _at_least_zero(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of at least 0")
    return number
