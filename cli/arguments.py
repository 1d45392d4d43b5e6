"""How a command is declared: the same help, examples and `--format` for all."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from cli.output import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# Years; the operating system counts nanoseconds in 64 bits.
_LONGEST_SECONDS: Final = 1e9
# How all commands show their help.
HELP: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


class Arguments(SimpleNamespace):
    """What a command was given, by the names of its parameters."""


class Option(click.Option):
    """An option that does not take another option for its value; `rivals` are those that it excludes."""

    rivals: frozenset[str] = frozenset()

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """The value; raises for the name of another option: then the value was forgotten."""
        if isinstance(value, str) and any(value in other.opts for other in ctx.command.params if value[:1] == "-"):
            raise click.UsageError(f"Option '{self.opts[0]}' requires an argument, and {value} is an option.", ctx)
        return super().type_cast_value(ctx, value)


class _Command(click.Command):
    """A command with examples that are printed as they are, and options that exclude each other."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        given = {each.name for each in self.params if _is_given(ctx, each)}
        for each in self.params:
            if isinstance(each, Option) and each.name in given and (both := each.rivals & given):
                other = next(rival.opts[0] for rival in self.params if rival.name in both)
                raise click.UsageError(f"{each.opts[0]} and {other} exclude each other: give one of them.", ctx)
        return rest

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_examples(self.epilog, formatter)


class _Group(click.Group):
    """A command that has commands of its own, with examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_examples(self.epilog, formatter)


def add_command(
    commands: click.Group,
    name: str,
    run: Callable[[Arguments], int],
    *parameters: click.Parameter,
    summary: str,
    description: str,
    examples: str,
    formats: Sequence[str] = FORMATS,
) -> None:
    """Declare a command that prints data, in the first of its formats by default; some have no choice of formats."""
    params = list(parameters)
    if formats:
        choice = click.Choice(formats)
        params.append(
            option("--format", type=choice, default=formats[0], show_default=True, help="how to print the data")
        )
    callback = _calling(run)
    command = _Command(name, HELP, callback, params, description, examples, summary)
    commands.add_command(command)


def add_group(commands: click.Group, name: str, *, summary: str, description: str, examples: str) -> click.Group:
    """Declare a command that has commands of its own."""
    group = _Group(name, help=description, epilog=examples, short_help=summary, context_settings=HELP)
    commands.add_command(group)
    return group


def option(*names: str, **settings: Any) -> Option:
    """An option, in Click's words."""
    return Option(names, **settings)


def flag(name: str, about: str) -> Option:
    """An option that is there or not."""
    return Option([name], is_flag=True, help=about)


def argument(name: str, about: str, metavar: str, **settings: Any) -> click.Argument:
    """What has no name in front of it."""
    shown = metavar if settings.get("required", settings.get("nargs") != -1) else f"[{metavar}]"
    many = "..." if settings.get("nargs") == -1 else ""
    return click.Argument([name], help=about, metavar=f"{shown}{many}", **settings)


def exclusive(*options: Option) -> tuple[Option, ...]:
    """Options of which one at most may be given."""
    names = frozenset(str(each.name) for each in options)
    for each in options:
        each.rivals = names - {each.name}
    return options


def budget_option() -> Option:
    """`--budget`, for commands that start long work in the app."""
    what = "storage transactions per second (default: no limit)"
    return option("--budget", metavar="N", type=_transactions_per_second, help=what)


def non_empty(text: str) -> str:
    """An argument that must not be empty: empty text would select everything, or a default."""
    if not text:
        raise click.BadParameter("it is empty: is a variable of the shell not set?")
    return text


def folder(text: str) -> Path:
    """An argument that names a folder."""
    return Path(non_empty(text))


def positive_seconds(text: str) -> float:
    """How long to wait: above 0, and no longer than a process can sleep."""
    seconds = _number(text)
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise click.BadParameter(f"{text} is not a number of seconds above 0 and up to {_LONGEST_SECONDS:,.0f}")
    return seconds


def seconds_limit(text: str) -> float:
    """The longest time that is accepted: from 0 up, also `inf`."""
    seconds = _number(text)
    if not seconds >= 0:
        raise click.BadParameter(f"{text} is not a number of seconds from 0 up")
    return seconds


def _transactions_per_second(text: str) -> float:
    """A finite number, as JSON needs it. The app checks its range."""
    budget = _number(text)
    if not math.isfinite(budget):
        raise click.BadParameter(f"{text} is not a number of transactions per second")
    return budget


def _number(text: str) -> float:
    """A number, or NaN, which fails every comparison."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _calling(run: Callable[[Arguments], int]) -> Callable[..., int]:
    """What Click calls: `run` gets all arguments as one value, which it hands on to what they share."""

    def call(**given: Any) -> int:
        return run(Arguments(**given))

    return call


def _is_given(ctx: click.Context, parameter: click.Parameter) -> bool:
    return ctx.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE


def _write_examples(examples: str | None, formatter: click.HelpFormatter) -> None:
    """Line by line: wrapped, they could not be copied."""
    if examples:
        with formatter.section("Examples"):
            for line in _lines(examples):
                formatter.write(f"  {line}\n")


def _lines(text: str) -> Iterable[str]:
    return (line.strip() for line in text.strip().splitlines())
