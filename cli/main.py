"""The frame of the command line: finds the command, runs it, turns errors into messages and exit codes.

stdout is data, stderr is progress and messages. Exit 0: fine; 1: a problem was found; 2: wrong usage.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from typing import TYPE_CHECKING, Final

from cli.commands import (
    advise,
    apply,
    build,
    dead_letters,
    explain,
    load,
    openapi,
    plan,
    query,
    rebalance,
    status,
    switch,
    tail,
    validate,
    verify,
)
from cli.errors import UsageError
from shared.errors import IndexTablesError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROBLEM: Final = 1
WRONG_USAGE: Final = 2

_COMMANDS: Final = (
    validate,
    plan,
    load,
    query,
    explain,
    tail,
    status,
    openapi,
    build,
    verify,
    switch,
    apply,
    advise,
    rebalance,
    dead_letters,
)

_OPTION: Final = re.compile("-h|--[a-z-]+(=.*)?", re.DOTALL)


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="index-tables",
        description="Secondary indexes for Azure data: check, plan, look up, operate.",
        epilog="exit codes: 0 fine, 1 a problem was found, 2 wrong usage",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    _never_fail_to_print()
    parser = build_parser()
    args = parser.parse_args(_with_keys_joined(sys.argv[1:] if arguments is None else arguments))
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except UsageError as error:
        print(f"index-tables: {error}", file=sys.stderr)
        return WRONG_USAGE
    except IndexTablesError as error:
        print(f"index-tables: {error}", file=sys.stderr)
        return PROBLEM
    except BrokenPipeError:
        # The reader (`| head`) has seen enough; whatever is still buffered goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _with_keys_joined(arguments: Sequence[str]) -> list[str]:
    """`--key -abc` as `--key=-abc`: argparse takes what begins with a dash for an option, and one key in 64 does."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] == "--key" and argument[:1] == "-" and not _OPTION.fullmatch(argument):
            joined[-1] = f"--key={argument}"
        else:
            joined.append(argument)
    return joined


def _never_fail_to_print() -> None:
    """A terminal that cannot show a character gets an escape for it, not a crash."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
