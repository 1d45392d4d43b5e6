"""The frame of the command line: finds the command, runs it, turns errors into messages and exit codes.

stdout is data, stderr is progress and messages. Exit 0: fine; 1: a problem was found; 2: wrong usage; 130: Ctrl-C.
"""

from __future__ import annotations

import argparse
import errno
import io
import re
import sys
from typing import TYPE_CHECKING, Final

from cli.commands import (
    advise,
    apply,
    build,
    client,
    count,
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
    token,
    validate,
    verify,
)
from cli.errors import UsageError
from cli.output import discard_output
from cli.text import visible_lines
from shared.errors import IndexTablesError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROBLEM: Final = 1
WRONG_USAGE: Final = 2
# 128 and the number of SIGINT: what shells give.
INTERRUPTED: Final = 130

_COMMANDS: Final = (
    validate,
    plan,
    load,
    query,
    count,
    explain,
    tail,
    status,
    openapi,
    client,
    build,
    verify,
    switch,
    apply,
    advise,
    rebalance,
    dead_letters,
    token,
)

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_OPTION: Final = re.compile("-h|--[a-z-]+(=.*)?", re.DOTALL)


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="index-tables",
        description="Secondary indexes for Azure data: check, plan, look up, operate.",
        epilog="exit codes: 0 fine, 1 a problem was found, 2 wrong usage, 130 Ctrl-C",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    _never_fail_to_print()
    args = _parsed(build_parser(), sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(args)
    except UsageError as error:
        print(f"index-tables: {visible_lines(str(error))}", file=sys.stderr)
        return WRONG_USAGE
    except IndexTablesError as error:
        print(f"index-tables: {visible_lines(str(error))}", file=sys.stderr)
        return PROBLEM
    except KeyboardInterrupt as interrupt:
        # A command that waits for the app says what becomes of the work there.
        print(f"index-tables: {str(interrupt) or 'interrupted'}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) of an endless command has closed the pipe.
        discard_output()
        return 0
    except OSError as error:
        what = _what_failed(error)
        if what is None:
            raise
        discard_output()
        print(f"index-tables: {what}: {error.strerror}", file=sys.stderr)
        return PROBLEM


def _run(args: argparse.Namespace) -> int:
    """Run the command; its exit code also holds when its output is not read to the end."""
    code: int = args.run(args)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
    return code


def _what_failed(error: OSError) -> str | None:
    """What the operating system refused; None for a bug of ours."""
    if error.filename is not None:
        return f"{error.filename} cannot be read or written"
    return "the output cannot be written" if error.errno in _FULL else None


def _parsed(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """The arguments, with options anywhere: argparse does not know the conditions of a lookup that follow one."""
    args, unknown = parser.parse_known_args(_with_keys_joined(arguments))
    if unknown and (not hasattr(args, "parameters") or any(word.startswith("-") for word in unknown)):
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if unknown:
        args.parameters = [*args.parameters, *unknown]
    return args


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
