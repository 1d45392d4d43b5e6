"""What a shell asks while somebody types, and questions that a command asks."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cli.main import main
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Which asks this program."""
    assert main(["completion", shell]) == 0
    assert f"_INDEX_TABLES_COMPLETE={shell}_complete" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["sta"], ["status"]),
        (["query", "customers-by-t"], ["customers-by-town"]),
        (["dead-letters", "pu"], ["purge"]),
        (["load", "x.csv", "--source", "m"], ["movies"]),
        (["load", "x.csv", "--ty"], ["--types"]),
        (["query", "nothing-like-it"], []),
    ],
)
def test_commands_options_and_names_are_completed(
    words: list[str],
    found: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """Names are those of the definitions, which may be missing."""
    monkeypatch.setenv("_INDEX_TABLES_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(["index-tables", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    monkeypatch.chdir(ROOT)
    assert main([]) == 0
    assert capsys.readouterr().out.split() == [f"plain,{word}" for word in found]
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0


def purged(answer: bytes | None, *arguments: str) -> tuple[int, str]:
    """Exit code and messages of a purge that somebody answers; nothing listens where it would be done."""
    here, there = pty.openpty()
    command = [sys.executable, "-m", "cli", "dead-letters", "purge", "--url", "http://127.0.0.1:1", *arguments]
    if answer is not None:
        os.write(here, answer)
    stdin = subprocess.DEVNULL if answer is None else there
    done = subprocess.run(command, cwd=ROOT, stdin=stdin, capture_output=True, text=True, check=False)
    os.close(there)
    os.close(here)
    return done.returncode, done.stderr


def test_a_purge_asks_who_is_there() -> None:
    """And does nothing without a yes."""
    code, told = purged(b"\n", "--index", "by-town", "--older-than", "3")
    assert told.startswith("Forget all dead letters older than 3 days with index 'by-town'? [y/N] ")
    assert (code, "nothing was forgotten" in told, "does not answer" in told) == (1, True, False)


@pytest.mark.parametrize(("answer", "arguments"), [(b"y\n", []), (b"", ["--yes"]), (None, [])])
def test_a_purge_goes_on_with_a_yes(answer: bytes | None, arguments: list[str]) -> None:
    """Said, given before, or where there is nobody to ask."""
    code, told = purged(answer, *arguments)
    assert code == 1
    assert "127.0.0.1:1 does not answer" in told
