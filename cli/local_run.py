"""Where a local run listens, from the `endpoints.json` in its data folder."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from cli.arguments import folder, option
from cli.errors import UsageError

if TYPE_CHECKING:
    from cli.arguments import Option

DATA_FOLDER: Final = ".local"


@dataclass(frozen=True, slots=True)
class LocalRun:
    """What a run has written; every question raises `UsageError` when the file does not look like that of a run."""

    file: Path
    content: Any = field(repr=False)

    def text(self, *names: str) -> str:
        """The text under these names, each inside the one before."""
        found = self.content
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        if not isinstance(found, str):
            raise _not_of_a_run(self.file)
        return found

    def address(self) -> str:
        """Where the app answers."""
        address = self.text("http")
        if not is_address(address):
            raise _not_of_a_run(self.file)
        return address

    def key(self, kind: str) -> str | None:
        """The key of a kind; None for a run that asks for none."""
        return self.text("keys", kind) if "keys" in self.content else None

    def sign_in(self) -> tuple[str, str, str] | None:
        """Key, audience and issuer of tokens; None for a run that takes none."""
        if "signIn" not in self.content:
            return None
        return self.text("signIn", "key"), self.text("signIn", "audience"), self.text("signIn", "issuer")

    def is_alive(self) -> bool:
        """Whether its process runs: an app that does not answer is then being started again."""
        pid = self.content.get("pid")
        if not isinstance(pid, int) or sys.platform == "win32":
            return False
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return True

    def cosmos_connection_string(self) -> str:
        """How to reach its Cosmos DB."""
        return f"AccountEndpoint={self.text('cosmos', 'endpoint')};AccountKey={self.text('cosmos', 'key')};"


def data_option() -> Option:
    """`--data`: which run."""
    what = f"the data folder of a local run (default: {DATA_FOLDER})"
    return option("--data", type=folder, metavar="DIR", help=what)


def local_run(data_folder: Path | None) -> LocalRun:
    """The run in this folder, or in the usual one; raises `UsageError` when none is running there."""
    file = (data_folder or Path(DATA_FOLDER)) / "endpoints.json"
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise UsageError(
            f'no local run has written {file}: start one with "make run", or name another with --data'
        ) from None
    except ValueError:
        raise _not_of_a_run(file) from None
    run = LocalRun(file, content)
    run.text("http")
    return run


def definitions_of_run(data_folder: Path | None) -> str | None:
    """The file that a run serves; None when no run is there, or none that says it."""
    try:
        return local_run(data_folder).text("definitions")
    except UsageError:
        return None


def is_address(text: str) -> bool:
    """Whether HTTP can be spoken there: a scheme, a host, perhaps a port, and nothing that no address has."""
    try:
        parts = urlsplit(text)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_whole and parts.username is None and text.isprintable() and " " not in text


def _not_of_a_run(file: Path) -> UsageError:
    return UsageError(f'{file} is not that of a local run: start it again with "make run", or name another with --data')
