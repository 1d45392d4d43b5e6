"""The definitions of a run: the file that people edit, and the copy of it that the app serves.

The copy never has a fault: while the file is wrong, the app goes on with the previous ones, also when it restarts.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, NamedTuple

from local.process.errors import LocalRunError
from shared.definitions.files import Unreadable, definitions_in, read_content, successor_in
from shared.definitions.model import Definitions

if TYPE_CHECKING:
    from pathlib import Path

    from shared.definitions.loading.load import Loaded

_POLL_SECONDS = 0.3


class _Save(NamedTuple):
    """What the file says, and when it was saved: saved again, it may be served that could not be before."""

    content: bytes | Unreadable
    at_ns: int = 0


class ServedDefinitions:
    """Watches the file; gives its definitions at first, and those of each save until they are taken."""

    def __init__(self, file: Path, copy: Path) -> None:
        self.file = file.resolve()
        self.copy = copy
        self.current = Definitions()
        self._seen = _Save(b"")

    def first(self) -> Definitions:
        """What to serve from the start; raises `LocalRunError` with every fault."""
        self._seen = self._last_save()
        loaded = definitions_in(self._seen.content, self.file)
        if loaded.faults:
            raise LocalRunError(f"the definitions are wrong; nothing was started.\n{_listed(loaded)}")
        return self.take(loaded.definitions)

    async def changed(self) -> Definitions:
        """Wait until the file can be served and says something else. What is wrong with it is told meanwhile."""
        before, is_wrong = self._seen, False
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            now = self._last_save()
            # Twice the same, so that nobody is still writing it.
            if now == before and now != self._seen:
                self._seen = now
                loaded = successor_in(now.content, self.file, self.current)
                if loaded.faults:
                    what = "the changed definitions have faults; the app goes on with the previous ones"
                    print(f"local: {what}.\n{_listed(loaded)}")
                elif loaded.definitions != self.current:
                    return loaded.definitions
                elif is_wrong:
                    print("local: the file says what is served again")
                is_wrong = bool(loaded.faults)
            before = now

    def take(self, definitions: Definitions) -> Definitions:
        """Let the app serve these definitions, which are those of the bytes that were seen, at its next start."""
        assert not isinstance(self._seen.content, Unreadable)
        self.copy.parent.mkdir(exist_ok=True)
        self.copy.write_bytes(self._seen.content)
        self.current = definitions
        return definitions

    def _last_save(self) -> _Save:
        at_ns = 0
        with contextlib.suppress(OSError):
            at_ns = self.file.stat().st_mtime_ns
        return _Save(read_content(self.file), at_ns)


def _listed(loaded: Loaded) -> str:
    return "\n".join(f"    {fault}" for fault in loaded.faults)
