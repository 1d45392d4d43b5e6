"""`index-tables completion`: what a shell has to run to complete commands, options and names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import get_completion_class

from cli.arguments import add_command, argument

if TYPE_CHECKING:
    from cli.arguments import Arguments

# In which the script asks this program; Click derives it from the program's name.
VARIABLE: Final = "_INDEX_TABLES_COMPLETE"
PROGRAM: Final = "index-tables"
_SHELLS: Final = ("bash", "zsh", "fish")
_EXAMPLES: Final = """\
  index-tables completion bash > ~/.local/share/bash-completion/completions/index-tables
  index-tables completion zsh > ~/.zfunc/_index-tables
  index-tables completion fish > ~/.config/fish/completions/index-tables.fish
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "completion",
        run,
        argument("shell", ", ".join(_SHELLS), "SHELL", type=click.Choice(_SHELLS)),
        summary="print the completion of a shell",
        description="Print a script that lets a shell complete commands, options, and the names of the indexes and "
        "sources in the definitions.",
        examples=_EXAMPLES,
        formats=("table",),
    )


def run(args: Arguments) -> int:
    """Print the script of a shell."""
    found = get_completion_class(args.shell)
    assert found is not None
    print(found(click.Group(), {}, PROGRAM, VARIABLE).source())
    return 0
