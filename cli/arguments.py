"""How a command is declared: the same help, examples and `--format` for all."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cli.output import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# What `add_subparsers` returns; argparse has no public name for it.
Commands: TypeAlias = Any
# Years; the operating system counts nanoseconds in 64 bits.
_LONGEST_SECONDS: Final = 1e9


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    summary: str,
    description: str,
    examples: str,
    formats: Sequence[str] = FORMATS,
) -> argparse.ArgumentParser:
    """Declare a command that prints data, in the first of its formats by default. The caller adds its own arguments."""
    parser = _parser(commands, name, summary, description, examples)
    parser.add_argument(
        "--format", choices=formats, default=formats[0], help="how to print the data (default: %(default)s)"
    )
    parser.set_defaults(run=run)
    return parser


def add_group(commands: Commands, name: str, *, summary: str, description: str, examples: str) -> Commands:
    """Declare a command that has commands of its own."""
    parser = _parser(commands, name, summary, description, examples)
    return parser.add_subparsers(title="commands", metavar="COMMAND", required=True)


def add_budget_argument(parser: argparse.ArgumentParser) -> None:
    """`--budget`, for commands that start long work in the app."""
    what = "storage transactions per second (default: no limit)"
    parser.add_argument("--budget", metavar="N", type=_transactions_per_second, help=what)


def non_empty(text: str) -> str:
    """An argument that must not be empty: empty text would select everything, or a default."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty: is a variable of the shell not set?")
    return text


def folder(text: str) -> Path:
    """An argument that names a folder."""
    return Path(non_empty(text))


def positive_seconds(text: str) -> float:
    """How long to wait: above 0, and no longer than a process can sleep."""
    seconds = _number(text)
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds above 0 and up to {_LONGEST_SECONDS:,.0f}")
    return seconds


def seconds_limit(text: str) -> float:
    """The longest time that is accepted: from 0 up, also `inf`."""
    seconds = _number(text)
    if not seconds >= 0:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds from 0 up")
    return seconds


def _transactions_per_second(text: str) -> float:
    """A finite number, as JSON needs it. The app checks its range."""
    budget = _number(text)
    if not math.isfinite(budget):
        raise argparse.ArgumentTypeError(f"{text} is no number of transactions per second")
    return budget


def _number(text: str) -> float:
    """A number, or NaN, which fails every comparison."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _parser(commands: Commands, name: str, summary: str, description: str, examples: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser
