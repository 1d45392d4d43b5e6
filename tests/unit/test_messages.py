"""What people read outside of pages: messages of the app, command line, local run and client are not Markdown."""

from __future__ import annotations

import ast
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

# Markdown: the OpenAPI document, docs/settings.md, and comments in the code that `index-tables client` writes.
RENDERED: Final = ("shared/web/openapi/", "shared/app/settings.py", "cli/client_code/")
_DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def modules() -> list[str]:
    """What prints, answers and logs."""
    command = ["git", "ls-files", "shared/*.py", "cli/*.py", "functions/*.py", "local/*.py", "clients/python/src/*.py"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in listed if not name.startswith(RENDERED)]


def texts(code: str) -> Iterator[tuple[int, str]]:
    """The texts of a module with their lines, without its docstrings."""
    tree = ast.parse(code)
    documented = (node.body[0] for node in ast.walk(tree) if isinstance(node, _DOCUMENTED) and node.body)
    docstrings = {id(first.value) for first in documented if isinstance(first, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def marked(code: str) -> list[int]:
    """Lines with a text that marks names as Markdown does."""
    return [line for line, text in texts(code) if "`" in text]


def test_no_message_has_a_backtick() -> None:
    """A terminal, a log and JSON show it as it is; names stand in double quotes, which the console shows as code."""
    found = {name: marked((ROOT / name).read_text(encoding="utf-8")) for name in modules()}
    assert len(found) > 500
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("'`filter` is wrong'", []),  # the docstring of a module
        ("x = '`filter` is wrong'", [1]),
        ("def f(a):\n    '''`a`'''\n    raise ValueError(f'no `{a}`')", [3, 3]),
        ("x = 'no \"filter\"'  # `filter`", []),
    ],
)
def test_a_backtick_in_a_message_is_noticed(code: str, lines: list[int]) -> None:
    """This check can fail."""
    assert marked(code) == lines
