"""Every command that README, guides, reference or `--help` show is one that there is, with arguments that it takes."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

import click
import pytest

from cli.main import application
from local.run.commands import parser
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES: Final = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
CODE: Final = re.compile(r"^```.*?^```|^ {4}\S.*?$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
COMMAND: Final = re.compile(r"(?:index-tables|python -m (?:cli|local)) [a-z].*")
# A file that the shell makes of what a command prints.
MADE: Final = re.compile(r"<\([^)]*\)")
# Words that stand for a number.
NUMBERS: Final = frozenset({"N", "DAYS", "SECONDS"})


def shown(text: str) -> Iterator[str]:
    """The commands in the code of a page, without what the shell does with them."""
    for code in CODE.finditer(text):
        for line in code[0].strip("`").replace("\\\n", " ").splitlines():
            found = COMMAND.search(MADE.sub("FILE", line))
            if found and "[" not in found[0] and "…" not in found[0]:
                yield found[0]


def words_of(command: str) -> list[str]:
    """What the program gets."""
    inside = command.partition(")")[0] if command.count(")") > command.count("(") else command
    words = shlex.split(inside, comments=True)
    end = next((number for number, word in enumerate(words) if word in ("|", ">", "&&", ";", "...")), len(words))
    words = words[1:end] if words[0] == "index-tables" else words[3:end]
    return ["1" if word in NUMBERS else word for word in words]


def parsed(words: list[str]) -> None:
    """Parse a command without running it; raises for a wrong one."""
    group = application()
    for command in commands_of(group):
        command.callback = lambda **_: 0
    group.main(words, "index-tables", standalone_mode=False)


def commands_of(group: click.Group) -> Iterator[click.Command]:
    """All that do something."""
    for command in group.commands.values():
        yield from commands_of(command) if isinstance(command, click.Group) else [command]


def is_named_only(words: list[str]) -> bool:
    """Whether this is only the name of a command that there is."""
    found: click.Command | None = application()
    for word in words:
        found = found.commands.get(word) if isinstance(found, click.Group) else None
    return found is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_page_can_be_called(page: object) -> None:
    """With what the page shows; a name alone is enough in a sentence."""
    for command in shown((ROOT / str(page)).read_text(encoding="utf-8")):
        words = words_of(command)
        if command.startswith("python -m local"):
            parser().parse_args(words)
        elif not is_named_only(words):
            try:
                parsed(words)
            except click.MissingParameter:
                pass  # a sentence may name a command with the option that it is about
            except click.ClickException as error:
                pytest.fail(f"{command}: {error.format_message()}")


def test_there_are_commands_in_the_pages() -> None:
    """The test above looks at them."""
    found = [command for page in PAGES for command in shown(page.read_text(encoding="utf-8"))]
    assert len(found) > 100
    with pytest.raises(click.ClickException):
        parsed(words_of("index-tables query by-town --al1"))
