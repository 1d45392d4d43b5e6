"""What a lookup asks for beside its conditions: page size, fields, facts, a change to wait for, where to go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.definitions.field_paths import segments
from shared.definitions.suggestions import did_you_mean_one_of
from shared.errors import BadLookupError
from shared.inputs.faults import fault, shown
from shared.inputs.page_size import PAGE_SIZE_DEFAULT, page_size
from shared.lookup.asking.conditions import parameter_names, readable_names
from shared.lookup.asking.filters import filter_fault
from shared.lookup.read_your_writes import read_sees_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.definitions.model import Index, Source
    from shared.entries.changes.seen_version import SeenVersion
    from shared.errors import Fault

FIELDS_MAX: Final = 50
NAMES: Final = ("maxpagesize", "select", "filter", "expand", "sees", "token")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one lookup. `select` holds dotted paths; None takes everything."""

    page_size: int = PAGE_SIZE_DEFAULT
    select: tuple[str, ...] | None = None
    filter: str | None = None
    expands_fact: bool = False
    seen: SeenVersion | None = None
    token: str | None = None


def read_options(index: Index, source: Source, parameters: Mapping[str, str]) -> Options:
    """The options in these parameters; raises `BadLookupError` with all faults, unknown parameters among them."""
    faults = _unknown_parameters(index, parameters)
    size = page_size(parameters.get("maxpagesize"), faults)
    select = _select(index, parameters.get("select"), faults)
    filtered = _filter(index, parameters.get("filter"), faults)
    expands = _expand(index, source, parameters.get("expand"), faults)
    seen = _sees(source, parameters.get("sees"), faults)
    if faults:
        raise BadLookupError(*faults)
    return Options(size, select, filtered, expands, seen, parameters.get("token"))


def _unknown_parameters(index: Index, parameters: Mapping[str, str]) -> list[Fault]:
    readable = {name for part in index.parts for name in readable_names(part.name)}
    unknown = [name for name in parameters if name not in readable and name not in NAMES]
    return [_unknown(index, name) for name in unknown]


def _unknown(index: Index, name: str) -> Fault:
    offered = [each for part in index.parts for each in parameter_names(index, part)]
    known = did_you_mean_one_of(name, [*offered, *NAMES])
    return fault("UnknownParameter", name, f'Index "{index.name}" has no parameter {shown(name)}. {known}')


def _select(index: Index, text: str | None, faults: list[Fault]) -> tuple[str, ...] | None:
    if text is None:
        return None
    paths = tuple(path.strip() for path in text.split(","))
    if len(paths) > FIELDS_MAX:
        detail = f"select names {len(paths)} fields; name at most {FIELDS_MAX}, or leave it out for all."
        faults.append(fault("TooManyFields", "select", detail))
        return None
    for path in paths:
        names = segments(path)
        if names is None:
            detail = f"select: {shown(path)} is not a field; write names with dots between, such as address.city."
            faults.append(fault("InvalidParameterValue", "select", detail))
        elif not _carries(index, names):
            known = did_you_mean_one_of(path, _projected(index))
            detail = f'select: index "{index.name}" does not carry {shown(path)}. {known}'
            faults.append(fault("UnknownField", "select", detail))
    return paths


def _projected(index: Index) -> tuple[str, ...]:
    if index.summarize is not None:
        return tuple(measure.name for measure in index.summarize)
    return index.project if isinstance(index.project, tuple) else ()


def _carries(index: Index, names: tuple[str, ...]) -> bool:
    """Whether a field is projected, lies in one that is, or holds one."""
    if index.project == "all":
        return True
    for path in _projected(index):
        projected = segments(path) or (path,)
        shared = min(len(projected), len(names))
        if projected[:shared] == names[:shared]:
            return True
    return False


def _filter(index: Index, text: str | None, faults: list[Fault]) -> str | None:
    if "filter" in [part.name for part in index.parts]:
        return None  # a definition that is older than the option: there it is a condition
    wrong = None if text is None else filter_fault(text)
    if wrong is not None:
        faults.append(wrong)
    return text


def _expand(index: Index, source: Source, text: str | None, faults: list[Fault]) -> bool:
    if text is None:
        return False
    if text != "fact":
        faults.append(fault("InvalidParameterValue", "expand", f"expand is {shown(text)}; it can only be fact."))
        return False
    if index.is_summary:
        detail = f'Index "{index.name}" is a summary: its entries are groups, which have no fact; leave expand out.'
        faults.append(fault("ExpandNotPossible", "expand", detail))
    elif source.cosmos is None:
        detail = f'Source "{source.name}" has no Cosmos DB container, so there are no facts to fetch; leave expand out.'
        faults.append(fault("ExpandNotPossible", "expand", detail))
    return True


def _sees(source: Source, text: str | None, faults: list[Fault]) -> SeenVersion | None:
    if text is None:
        return None
    found = read_sees_value(source, text)
    if isinstance(found, str):
        faults.append(fault("InvalidSees", "sees", f"sees {found}."))
        return None
    return found
