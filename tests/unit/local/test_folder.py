"""A data folder belongs to one local run at a time, and nothing foreign in it is ever touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from local.process.errors import LocalRunError
from local.process.lifeline import Stop
from local.run.folder import DataFolder

if TYPE_CHECKING:
    from pathlib import Path


async def test_an_empty_folder_is_accepted(tmp_path: Path) -> None:
    """So is one that does not exist yet."""
    for path in (tmp_path, tmp_path / "new" / "folder"):
        async with DataFolder(path).locked(Stop()):
            assert (path / "lock").read_text() == str(os.getpid())


async def test_a_folder_with_foreign_files_is_refused(tmp_path: Path) -> None:
    """`--fresh` could otherwise remove somebody's documents."""
    (tmp_path / "thesis.doc").touch()
    with pytest.raises(LocalRunError, match="empty folder"):
        async with DataFolder(tmp_path).locked(Stop()):
            pass


async def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """In a sentence."""
    (tmp_path / "file").touch()
    with pytest.raises(LocalRunError, match="cannot be the data folder"):
        async with DataFolder(tmp_path / "file").locked(Stop()):
            pass


async def test_a_second_run_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    """After it has waited for the lock."""
    async with DataFolder(tmp_path).locked(Stop()):
        with pytest.raises(LocalRunError, match=f"pid {os.getpid()}"):
            async with DataFolder(tmp_path).locked(Stop(), wait_seconds=0.3):
                pass


async def test_the_lock_is_held_while_a_child_that_inherited_it_lives(tmp_path: Path) -> None:
    """Even when the supervisor itself is gone."""
    async with DataFolder(tmp_path).locked(Stop()) as lock:
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, pass_fds=(lock,)
        )
    with pytest.raises(LocalRunError, match="in use"):
        async with DataFolder(tmp_path).locked(Stop(), wait_seconds=0.3):
            pass
    child.communicate()
    async with DataFolder(tmp_path).locked(Stop(), wait_seconds=0.3):
        pass


async def test_fresh_removes_what_an_earlier_run_left(tmp_path: Path) -> None:
    """Everything but the lock that is being held."""
    folder = DataFolder(tmp_path)
    async with folder.locked(Stop()):
        folder.prepare(fresh=False)
        (folder.azurite / "tables.json").touch()
        folder.prepare(fresh=True)
        assert sorted(part.name for part in tmp_path.rglob("*")) == ["azurite", "cosmos", "eventhubs", "lock", "logs"]


async def test_endpoints_of_an_earlier_run_are_removed_at_the_start(tmp_path: Path) -> None:
    """Nobody may read an address that nothing listens on any more."""
    folder = DataFolder(tmp_path)
    async with folder.locked(Stop()):
        folder.write_endpoints({"http": "http://127.0.0.1:7071"})
        assert json.loads(folder.endpoints.read_text()) == {"http": "http://127.0.0.1:7071"}
        folder.prepare(fresh=False)
        assert not folder.endpoints.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="files there have no such modes")
async def test_only_its_owner_can_read_the_endpoints(tmp_path: Path) -> None:
    """They hold keys; also when a half-written file of an earlier run was open to all."""
    folder = DataFolder(tmp_path)
    (tmp_path / "endpoints.tmp").touch(mode=0o644)
    folder.write_endpoints({"http": "http://127.0.0.1:7071"})
    assert folder.endpoints.stat().st_mode & 0o777 == 0o600
