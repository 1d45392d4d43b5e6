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
    """Declare a command that prints data, in the first of its formats unless told; its own arguments are to follow."""
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
    """`--budget`, of commands that let the app work for long."""
    what = "storage transactions per second (default: no limit)"
    parser.add_argument("--budget", metavar="N", type=_transactions_per_second, help=what)


def named(text: str) -> str:
    """An argument that names something; an empty one would name all there is, or what is meant by none."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty: is a variable of the shell not set?")
    return text


def folder(text: str) -> Path:
    """An argument that names a folder."""
    return Path(named(text))


def seconds_between(text: str) -> float:
    """An argument that says how long to wait: above 0, and no longer than a process can sleep."""
    seconds = _number(text)
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds above 0 and up to {_LONGEST_SECONDS:,.0f}")
    return seconds


def seconds_at_most(text: str) -> float:
    """An argument that says how long is too long: from 0 up, also `inf`."""
    seconds = _number(text)
    if not seconds >= 0:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds from 0 up")
    return seconds


def _transactions_per_second(text: str) -> float:
    """A number that JSON has, too. Whether it is enough for anything is for the app to say."""
    budget = _number(text)
    if not math.isfinite(budget):
        raise argparse.ArgumentTypeError(f"{text} is no number of transactions per second")
    return budget


def _number(text: str) -> float:
    """A number, or NaN, which is on no side of any bound."""
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
