"""The frame of the command line: finds the command, runs it, turns errors into messages and exit codes.

stdout is data, stderr is progress and messages. Exit 0: fine; 1: a problem was found; 2: wrong usage; 130: Ctrl-C.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import shell_complete

from cli.arguments import HELP
from cli.commands import (
    advise,
    apply,
    build,
    client,
    completion,
    count,
    dead_letters,
    erase,
    explain,
    init,
    list_indexes,
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
from cli.output import discard_output, tell
from shared.errors import IndexTablesError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROBLEM: Final = 1
WRONG_USAGE: Final = 2
# 128 and the number of SIGINT: what shells give.
INTERRUPTED: Final = 130

_SECTIONS: Final = {
    "Definitions": (init, validate, plan, openapi),
    "Facts": (load,),
    "Lookups": (query, count, explain, tail),
    "Operations": (list_indexes, status, apply, build, verify, switch, rebalance, advise, dead_letters, erase),
    "Tools": (client, token, completion),
}

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class Application(click.Group):
    """All commands, listed in sections."""

    sections: dict[str, list[str]]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(100)) for name in names])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"\n{self.epilog}\n")


def application() -> Application:
    """All commands."""
    group = Application(
        "index-tables",
        help="Secondary indexes for Azure data: check, plan, look up, operate.",
        epilog="Exit codes: 0 fine, 1 a problem was found, 2 wrong usage, 130 Ctrl-C (in live views 0).",
        no_args_is_help=False,
        context_settings=HELP,
    )
    group.sections = {}
    for title, commands in _SECTIONS.items():
        before = set(group.commands)
        for command in commands:
            command.add(group)
        group.sections[title] = [name for name in group.commands if name not in before]
    return group


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    _never_fail_to_print()
    if instruction := os.environ.get(completion.VARIABLE):
        return shell_complete(application(), {}, completion.PROGRAM, completion.VARIABLE, instruction)
    try:
        return _run(application(), sys.argv[1:] if arguments is None else arguments)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        tell(_how_to_use(error))
        return WRONG_USAGE
    except UsageError as error:
        tell(f"index-tables: {error}")
        return WRONG_USAGE
    except IndexTablesError as error:
        tell(f"index-tables: {error}")
        return PROBLEM
    except KeyboardInterrupt as interrupt:
        # A command that waits for the app says what becomes of the work there.
        tell(f"index-tables: {str(interrupt) or 'interrupted'}")
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
        tell(f"index-tables: {what}: {error.strerror}")
        return PROBLEM


def _run(group: click.Group, arguments: Sequence[str]) -> int:
    """Run the command; its exit code also holds when its output is not read to the end.

    Not with Click's own `main`, which would say that somebody pressed Ctrl-C, and not what becomes of the work.
    """
    with group.make_context("index-tables", list(arguments)) as context:
        code: int = group.invoke(context)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
    return code


def _how_to_use(error: click.UsageError) -> str:
    """What is wrong, below how the command is used."""
    context = error.ctx
    usage = [context.get_usage(), f'Try "{context.command_path} --help".'] if context else []
    return "\n".join([*usage, f"index-tables: {error.format_message()}"])


def _what_failed(error: OSError) -> str | None:
    """What the operating system refused; None for a bug of ours."""
    if error.filename is not None:
        return f"{error.filename} cannot be read or written"
    return "the output cannot be written" if error.errno in _FULL else None


def _never_fail_to_print() -> None:
    """A terminal that cannot show a character gets an escape for it, not a crash."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
