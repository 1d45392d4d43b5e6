"""Reads definitions from disk: `indexes.yaml`, and its compiled form when that belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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


class Unreadable(NamedTuple):
    """Why a file has no content, and what to do about it."""

    what: str
    fix: str


def read_content(path: Path) -> bytes | Unreadable:
    """What a file says at this moment."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return Unreadable("there is no such file", "Name a definitions file, such as indexes.yaml.")
    except OSError as error:
        return Unreadable(f"the file cannot be read ({error.strerror})", "Name a readable file.")


def read_definitions(path: Path) -> Loaded:
    """The definitions of a file, checked in full, with advice."""
    return definitions_in(read_content(path), path)


def definitions_in(content: bytes | Unreadable, path: Path) -> Loaded:
    """The definitions in what a file said, checked in full, with advice."""
    if isinstance(content, Unreadable):
        return _unreadable(path, content)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        return _unreadable(path, Unreadable(f"byte {error.start} is not UTF-8", "Save the file as UTF-8."))
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
    return successor_in(read_content(path), path, served)


def successor_in(content: bytes | Unreadable, path: Path, served: Definitions) -> Loaded:
    """The same for what a file said."""
    loaded = definitions_in(content, path)
    refused = [step for step in compare(served, loaded.definitions) if step.effect == "not allowed"]
    fix = "Take that back, or give the source a new name."
    faults = [
        Finding(str(path), 1, f"sources.{step.name}.{key}", "facts would be identified or ordered differently", fix)
        for step in refused
        for key in step.because
    ]
    return loaded if loaded.faults or not faults else Loaded(loaded.definitions, tuple(faults))


def _unreadable(path: Path, why: Unreadable) -> Loaded:
    return Loaded(Definitions(), (Finding(str(path), 1, "", why.what, why.fix),))
