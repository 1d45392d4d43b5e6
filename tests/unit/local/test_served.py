"""What a local run serves of the file that people edit, and what it shows of the app's log."""

from __future__ import annotations

import asyncio
import os
from pathlib import PosixPath
from typing import TYPE_CHECKING, ClassVar

import pytest

from local.process.errors import LocalRunError
from local.run.follow import Attention
from local.run.served import ServedDefinitions
from shared.definitions.files import read_content

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """
version: 1
sources: {people: {cosmos: {database: test, container: people}, partitionKey: team}}
indexes:
  by-town: {source: people, partition: town}
"""
BROKEN = GOOD.replace("partition:", "partitoin:")
OTHER = GOOD.replace("by-town", "by-city")


@pytest.fixture
def served(tmp_path: Path) -> ServedDefinitions:
    """Of a file without faults."""
    file = tmp_path / "indexes.yaml"
    file.write_text(GOOD)
    served = ServedDefinitions(file, tmp_path / "data" / "indexes.yaml")
    served.copy.parent.mkdir()
    served.first()
    return served


def test_a_wrong_file_is_refused_at_first(tmp_path: Path) -> None:
    """With every fault, each in a line with its place."""
    file = tmp_path / "indexes.yaml"
    file.write_text(BROKEN)
    with pytest.raises(
        LocalRunError, match=r"indexes\.yaml:5: indexes\.by-town\.partition.*\n.*partitoin: unknown key"
    ):
        ServedDefinitions(file, tmp_path / "copy.yaml").first()
    assert not (tmp_path / "copy.yaml").exists()


async def test_a_change_is_served_when_it_is_taken(served: ServedDefinitions) -> None:
    """Until then the copy is what it was: the app may start again at any moment."""
    served.file.write_text(OTHER)
    async with asyncio.timeout(10):
        changed = await served.changed()
    assert list(changed.indexes) == ["by-city"]
    assert served.copy.read_text() == GOOD
    served.take(changed)
    assert served.copy.read_text() == OTHER


@pytest.mark.parametrize(
    "text", [BROKEN, "", GOOD.replace("team", "tenant"), GOOD + "# only said otherwise", None], ids=str
)
async def test_what_cannot_be_served_or_changes_nothing_is_passed_over(
    served: ServedDefinitions, text: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Faults, another identity of facts, comments, no file at all; what comes next counts again."""
    if text is None:
        served.file.unlink()
    else:
        served.file.write_text(text)
    waiting = asyncio.create_task(served.changed())
    async with asyncio.timeout(10):
        while served._seen.content != read_content(served.file):
            await asyncio.sleep(0)
    assert ("goes on with the previous ones" in capsys.readouterr().out) == (text != GOOD + "# only said otherwise")
    served.file.write_text(OTHER)
    async with asyncio.timeout(10):
        assert list((await waiting).indexes) == ["by-city"]


async def test_the_end_of_faults_is_told(served: ServedDefinitions, capsys: pytest.CaptureFixture[str]) -> None:
    """Also when nothing has changed in the end."""
    waiting = asyncio.create_task(served.changed())
    told = ""
    async with asyncio.timeout(10):
        for text, said in ((BROKEN, "goes on with the previous ones"), (GOOD, "says what is served again")):
            served.file.write_text(text)
            while said not in told:
                await asyncio.sleep(0)
                told += capsys.readouterr().out
    waiting.cancel()


class Rewritten(PosixPath):
    """A file that may be saved again as soon as it has been read."""

    saves: ClassVar[list[str | None]] = []

    def resolve(self, strict: bool = False) -> Rewritten:
        """The same file."""
        return self

    def read_bytes(self) -> bytes:
        """What it said before the next save."""
        content = super().read_bytes()
        if self.saves and (text := self.saves.pop(0)) is not None:
            self.write_text(text)
        return content


async def test_the_bytes_that_are_served_are_those_that_were_checked(tmp_path: Path) -> None:
    """Also when the file is saved at the very moment between reading and checking it."""
    file = Rewritten(tmp_path / "indexes.yaml")
    file.write_text(GOOD)
    served = ServedDefinitions(file, tmp_path / "data" / "indexes.yaml")
    file.saves[:] = [BROKEN]
    assert list(served.first().indexes) == ["by-town"]
    assert served.copy.read_text() == GOOD
    file.write_text(OTHER)
    # One reading finds the change, the next one that nobody is still writing it: then it is saved again.
    file.saves[:] = [None, BROKEN]
    async with asyncio.timeout(10):
        changed = await served.changed()
    assert list(changed.indexes) == ["by-city"]
    served.take(changed)
    assert served.copy.read_text() == OTHER


async def test_definitions_that_were_not_taken_come_again_when_they_are_saved_again(served: ServedDefinitions) -> None:
    """Also without a change: what they name may be possible now."""
    served.file.write_text(OTHER)
    async with asyncio.timeout(10):
        refused = await served.changed()
    save_later(served.file, OTHER)
    async with asyncio.timeout(10):
        assert await served.changed() == refused


async def test_definitions_that_were_not_taken_do_not_come_again_by_themselves(
    served: ServedDefinitions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the app would start again without end."""
    monkeypatch.setattr("local.run.served._POLL_SECONDS", 0)
    served.file.write_text(OTHER)
    await served.changed()
    waiting = asyncio.create_task(served.changed())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not waiting.done()
    save_later(served.file, GOOD.replace("by-town", "by-name"))
    async with asyncio.timeout(10):
        assert list((await waiting).indexes) == ["by-name"]


def save_later(file: Path, text: str) -> None:
    """As a save that comes a second after the one before."""
    saved_at = file.stat().st_mtime_ns + 1_000_000_000
    file.write_text(text)
    os.utime(file, ns=(saved_at, saved_at))


def test_warnings_are_shown_with_what_belongs_to_them() -> None:
    """Such as a traceback; and what the program says without a level."""
    log = """\
started
2026-11-19 04:00:00,123 INFO azure: calm
more of it
2026-11-19 04:00:01,123 WARNING shared: look
why
2026-11-19 04:00:02,123 INFO azure: calm
"""
    attention = Attention()
    shown = [line for line in log.splitlines() if attention.calls_for(line)]
    assert shown == ["started", "2026-11-19 04:00:01,123 WARNING shared: look", "why"]
