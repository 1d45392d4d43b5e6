"""Reads definitions from disk: `indexes.yaml`, and its compiled form when that belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.definitions.compare import compare
from shared.definitions.compiled import compile_definitions, from_compiled
from shared.definitions.loading.findings import Finding
from shared.definitions.loading.load import Loaded, load
from shared.definitions.model import Definitions

if TYPE_CHECKING:
    from pathlib import Path


def compiled_path(path: Path) -> Path:
    """Where the compiled form of a definitions file lies: `indexes.compiled.json` beside `indexes.yaml`."""
    return path.with_suffix(".compiled.json")


def read_definitions(path: Path) -> Loaded:
    """The definitions of a file, checked in full, with advice."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return _unreadable(path, "there is no such file", "Name a definitions file, such as indexes.yaml.")
    except UnicodeDecodeError as error:
        return _unreadable(path, f"byte {error.start} is not UTF-8", "Save the file as UTF-8.")
    except OSError as error:
        return _unreadable(path, f"the file cannot be read ({error.strerror})", "Name a readable file.")
    return load(text, str(path))


def read_for_start(path: Path) -> Loaded:
    """The definitions as the app needs them at start: from the compiled form if it fits, without advice."""
    try:
        text = path.read_text(encoding="utf-8")
        definitions = from_compiled(text, compiled_path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        definitions = None
    return read_definitions(path) if definitions is None else Loaded(definitions)


def write_compiled(path: Path) -> Path:
    """Compile a definitions file; raises `DefinitionsError` when it has faults."""
    definitions = read_definitions(path).require()
    target = compiled_path(path)
    target.write_text(compile_definitions(path.read_text(encoding="utf-8"), definitions), encoding="utf-8")
    return target


def read_successor(path: Path, served: Definitions) -> Loaded:
    """The definitions of a file that is to replace those that are served; what must not change then is a fault, too."""
    loaded = read_definitions(path)
    refused = [step for step in compare(served, loaded.definitions) if step.effect == "not allowed"]
    fix = "Take that back, or give the source a new name."
    faults = [
        Finding(str(path), 1, f"sources.{step.name}.{key}", "facts would be told apart or ordered otherwise", fix)
        for step in refused
        for key in step.because
    ]
    return loaded if loaded.faults or not faults else Loaded(loaded.definitions, tuple(faults))


def _unreadable(path: Path, what: str, fix: str) -> Loaded:
    return Loaded(Definitions(), (Finding(str(path), 1, "", what, fix),))
