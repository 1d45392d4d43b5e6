"""How a command is declared: the same help, examples and `--format` for all."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, TypeAlias

from cli.output import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

# What `add_subparsers` returns; argparse has no public name for it.
Commands: TypeAlias = Any


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    summary: str,
    description: str,
    examples: str,
) -> argparse.ArgumentParser:
    """Declare a command that prints data; the caller adds its own arguments."""
    parser = _parser(commands, name, summary, description, examples)
    parser.add_argument(
        "--format", choices=FORMATS, default="table", help="how to print the data (default: %(default)s)"
    )
    parser.set_defaults(run=run)
    return parser


def add_group(commands: Commands, name: str, *, summary: str, description: str, examples: str) -> Commands:
    """Declare a command that has commands of its own."""
    parser = _parser(commands, name, summary, description, examples)
    return parser.add_subparsers(title="commands", metavar="COMMAND", required=True)


def _parser(commands: Commands, name: str, summary: str, description: str, examples: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser
