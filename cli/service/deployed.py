"""Does an app run the definitions of a file? A local run reloads them by itself; elsewhere they have to be deployed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.definitions import definitions_file, read, write_findings
from cli.errors import ServiceError
from cli.local_run import definitions_of_run
from cli.output import tell
from cli.service.app_client import path_segment
from cli.service.builds import index_state
from shared.definitions.identity import generation_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cli.arguments import Arguments
    from cli.service.app_client import AppClient
    from shared.definitions.model import Definitions

_POLL_SECONDS: Final = 0.5
# A local run notices a change within a second, and starts the app again.
_RELOAD_SECONDS: Final = 60.0


def has_generation(app: AppClient, index: str, generation: str) -> bool:
    """Whether the app's own definition of an index is that generation, perhaps for the second time."""
    try:
        defined = index_state(app, index)["defined"]
        # No worker has entered it yet: a new app serves what its definitions say.
        found = app.get(f"/api/indexes/{path_segment(index)}", {})["generation"] if defined is None else defined["id"]
    except ServiceError:
        return False  # it is being restarted, or does not know the index yet
    return str(found).startswith(generation)


@dataclass(frozen=True, slots=True)
class DefinitionsFile:
    """The file that an app should run."""

    file: str
    definitions: Definitions
    is_reloaded: bool

    def lacking(self, app: AppClient, names: Iterable[str]) -> list[str]:
        """The indexes whose definition the app does not have as the file says it; of all when no name is given."""
        indexes = self.definitions.indexes
        wanted = [indexes[name] for name in names or indexes if name in indexes]
        return [
            index.name
            for index in wanted
            if not has_generation(app, index.name, generation_id(index, self.definitions.sources[index.source]))
        ]


def file_for(args: Arguments) -> DefinitionsFile | None:
    """The file to compare an app with; None when there is none here, and none was named. Raises for a wrong one."""
    file = definitions_file(args)
    if not args.definitions and not Path(file).is_file():
        return None
    loaded = read(file)
    if loaded.faults:
        write_findings(loaded.faults, (), args.format)
        raise ServiceError(f"{file} is wrong: nothing was applied")
    of_run = None if args.url else definitions_of_run(args.data)
    return DefinitionsFile(file, loaded.definitions, of_run is not None and Path(of_run) == Path(file).resolve())


def wait_until_deployed(app: AppClient, found: DefinitionsFile, names: Iterable[str], seconds: float | None) -> None:
    """Warn while the app runs other definitions, and wait for a local run, or as long as was asked for."""
    lacking = found.lacking(app, names)
    if not lacking:
        return
    _say(f"the app runs other definitions than {found.file}: they differ in {', '.join(lacking)}")
    limit = seconds if seconds is not None else _RELOAD_SECONDS if found.is_reloaded else 0.0
    if not limit:
        _say("deploy the file to apply it; what the app has is applied now")
        return
    _say(f"waiting for the app to have it{', which a local run reloads' if found.is_reloaded else ''}")
    deadline = time.monotonic() + limit
    while lacking:
        if time.monotonic() > deadline:
            raise ServiceError(f"nothing was applied: after {limit:g} s the app runs other definitions.{_why(app)}")
        time.sleep(_POLL_SECONDS)
        lacking = found.lacking(app, lacking)
    _say(f"the app has the definitions of {found.file}")


def _why(app: AppClient) -> str:
    """The faults that the app shows in its status, if any."""
    try:
        faults = app.get("/api/status", {}).get("definitionFaults", ())
    except ServiceError as error:
        return f" {error}."
    return "".join(f"\n  {fault}\n" for fault in faults)


def _say(text: str) -> None:
    tell(f"index-tables: {text}")
