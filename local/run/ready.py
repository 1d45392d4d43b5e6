"""What a run prints when it is ready: where to look, and a first lookup to copy."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from local.run.samples import facts
from shared.definitions.field_paths import segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from local.run.folder import DataFolder
    from shared.definitions.model import Definitions, Index


def ready_lines(
    endpoints: Mapping[str, Any], folder: DataFolder, definitions: Definitions, *, has_samples: bool
) -> Iterator[str]:
    """Addresses first, then what to do next."""
    base = endpoints["http"]
    yield f"    Console    {base}/api/console"
    yield f"    Docs       {base}/api/docs"
    yield f"    HTTP       {base}/api/health/ready"
    yield f"    Endpoints  {from_here(folder.endpoints)}"
    yield f"    Logs       {from_here(folder.logs)}"
    if has_samples and (found := _answerable(definitions)):
        index, values = found
        command = f"curl {shlex.quote(f'{base}/api/indexes/{index}/entries?{urlencode(values)}')}"
        yield f"    Look up    {command}{_credentials(endpoints, folder)}"
    elif source := next(iter(definitions.sources), None):
        yield f"    Load       {_index_tables()} load FACTS.jsonl --source {source}{_data(folder)}"
    yield f"    List       {_index_tables()} list{_data(folder)}"
    yield f"    Change     {from_here(Path(endpoints['definitions']))}: the app starts again with what you save"
    yield "    Ctrl-C stops it."


def from_here(path: Path) -> Path:
    """The path as a user in this folder would write it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _answerable(definitions: Definitions) -> tuple[str, dict[str, str]] | None:
    """An index, and the partition of a sample fact in it: a lookup that finds something."""
    for index in definitions.indexes.values():
        for fact in facts(index.source) if index.each is None else ():
            values = _partition(index, fact)
            if all(isinstance(value, str) for value in values.values()):
                return index.name, values
    return None


def _partition(index: Index, fact: Any) -> dict[str, Any]:
    return {part.name: _value(fact, segments(part.path) or ()) for part in index.partition}


def _value(found: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _credentials(endpoints: Mapping[str, Any], folder: DataFolder) -> str:
    if "keys" in endpoints:
        return f" -H 'x-functions-key: {endpoints['keys']['function']}'"
    if "signIn" in endpoints:
        return f' -H "Authorization: Bearer $({_index_tables()} token --role Index.Read{_data(folder)})"'
    return ""


def _index_tables() -> str:
    """The command, as it can be called from here."""
    beside = Path(sys.executable).with_name("index-tables")
    return "index-tables" if shutil.which("index-tables") or not beside.exists() else str(from_here(beside))


def _data(folder: DataFolder) -> str:
    shown = from_here(folder.path)
    return "" if str(shown) == ".local" else f" --data {shlex.quote(str(shown))}"
