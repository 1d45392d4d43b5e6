"""The data folder of a local run: its lock, its parts, and `endpoints.json`, which says where things listen.

One run at a time may use a folder, because two Azurites on one folder destroy it. The lock belongs to an open file
that every child inherits, so that it is free only when the supervisor and all children have ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any

from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from local.process.lifeline import Stop

LOCK_NAME = "lock"
ENDPOINTS_NAME = "endpoints.json"
LOCK_WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.2


class DataFolder:
    """One folder with everything that a local run keeps."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.azurite = path / "azurite"
        self.cosmos = path / "cosmos"
        self.event_hubs = path / "eventhubs"
        self.logs = path / "logs"
        self.definitions = path / "definitions" / "indexes.yaml"
        self.keys = path / "keys.json"
        self.token_key = path / "token.key"
        self.endpoints = path / ENDPOINTS_NAME

    @contextlib.asynccontextmanager
    async def locked(self, stop: Stop, wait_seconds: float = LOCK_WAIT_SECONDS) -> AsyncIterator[int]:
        """Hold the folder's lock; gives the descriptor that children must inherit."""
        self._make()
        descriptor = os.open(self.path / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            await self._lock(descriptor, stop, wait_seconds)
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
            yield descriptor
        finally:
            os.close(descriptor)

    def prepare(self, *, fresh: bool) -> None:
        """Make the parts; with `fresh`, after removing what an earlier run left."""
        self.endpoints.unlink(missing_ok=True)
        if fresh:
            for part in self.path.iterdir():
                if part.name != LOCK_NAME:
                    _remove(part)
        for part in (self.azurite, self.cosmos, self.event_hubs, self.logs):
            part.mkdir(exist_ok=True)

    def write_endpoints(self, endpoints: dict[str, Any]) -> None:
        """Publish where things listen: whole or not at all, so that a reader never sees half a file."""
        half_written = self.endpoints.with_suffix(".tmp")
        half_written.unlink(missing_ok=True)
        half_written.touch(mode=0o600)  # it has keys in it
        half_written.write_text(json.dumps(endpoints, indent=2))
        half_written.replace(self.endpoints)

    def _make(self) -> None:
        """Make the folder, or accept one that is empty or of an earlier run: nothing foreign is ever touched."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            names = {part.name for part in self.path.iterdir()}
        except OSError as error:
            message = f"{self.path} cannot be the data folder ({error.strerror}): choose another with --data."
            raise LocalRunError(message) from None
        if names and LOCK_NAME not in names:
            raise LocalRunError(
                f"{self.path} has files that are not of a local run: choose an empty folder with --data."
            )

    async def _lock(self, descriptor: int, stop: Stop, wait_seconds: float) -> None:
        deadline = time.monotonic() + wait_seconds
        while not _try_lock(descriptor):
            if time.monotonic() > deadline or await stop.sleep(_POLL_SECONDS):
                pid = os.pread(descriptor, 32, 0).decode() or "unknown"
                raise LocalRunError(
                    f"{self.path} is in use by the local run with pid {pid}: stop that one or choose another --data."
                )


def _remove(part: Path) -> None:
    if part.is_dir() and not part.is_symlink():
        shutil.rmtree(part)
    else:
        part.unlink()


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
