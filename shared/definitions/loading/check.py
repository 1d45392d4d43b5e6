"""What the shape cannot say: names, paths, and how keys depend on each other.

`check` reports every fault it finds; definitions without a fault can be projected, kept and looked up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shared.definitions.expressions import problem_with
from shared.definitions.field_paths import segments
from shared.definitions.loading.check_layout import check_layout, check_periods
from shared.definitions.loading.check_sources import check_sources
from shared.definitions.loading.check_summary import check_summary
from shared.definitions.loading.check_texts import check_expression, check_name
from shared.definitions.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection

    from shared.definitions.access import IndexAccess
    from shared.definitions.loading.findings import Findings, KeyPath
    from shared.definitions.model import Definitions, Index, KeyPart, Source

# Parameters of a lookup that are not key parts.
RESERVED_NAMES: Final = frozenset({"code", "clientId", "select", "expand", "sees", "maxpagesize", "token"})
_PART_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def check(definitions: Definitions, declared_sources: Collection[str], findings: Findings) -> None:
    """Check it all. `declared_sources` also names those that were left out for faults of their own."""
    check_sources(definitions, findings)
    _check_cases("sources", definitions.sources, findings)
    _check_cases("indexes", definitions.indexes, findings)
    for index in definitions.indexes.values():
        _check_index(index, definitions.sources.get(index.source), declared_sources, findings)
        _check_bind(index, definitions.access.of(index.name), findings)


def _check_bind(index: Index, access: IndexAccess, findings: Findings) -> None:
    """Report what is bound and is no part of the key: nothing would be kept apart by it."""
    parts = [part.name for part in index.parts]
    for part, _ in access.bind:
        if part not in parts:
            path = ("indexes", index.name, "access", "bind", part)
            findings.fault(path, f'"{part}" is not a part of the key', did_you_mean(part, parts))


def _check_cases(at: str, names: Collection[str], findings: Findings) -> None:
    """Functions are named after sources and indexes, and the host tells them apart without regard to case."""
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(name.lower(), name)
        if other != name:
            findings.fault((at, name), f'the name differs from "{other}" only in case', "Choose another name.")


def _check_index(index: Index, source: Source | None, declared_sources: Collection[str], findings: Findings) -> None:
    at: KeyPath = ("indexes", index.name)
    check_name(at, index.name, findings)
    if index.source not in declared_sources:
        fix = did_you_mean(index.source, declared_sources)
        findings.fault((*at, "source"), f'there is no source "{index.source}"', fix)
    if not index.partition:
        findings.fault((*at, "partition"), "the partition has no part", "Name at least one path.")
    for half, parts in (("partition", index.partition), ("sort", index.sort)):
        for number, part in enumerate(parts):
            _check_part((*at, half, number), part, findings)
    _check_part_names(index, findings)
    _check_each(index, findings)
    check_expression((*at, "where"), index.where, findings)
    if index.summarize is None:
        _check_project(index, source, findings)
    else:
        check_summary(index, findings)
        for measure in index.summarize:
            kind: KeyPath = () if measure.path is None else (measure.kind,)
            check_expression((*at, "summarize", measure.name, *kind), measure.path, findings)
    check_layout(index, findings)
    if index.expire:
        check_expression((*at, "expire", "path"), index.expire.path, findings)
        check_periods(index, findings)


def _check_part(at: KeyPath, part: KeyPart, findings: Findings) -> None:
    spelled_out = (*findings.as_written(at), "path")
    check_expression(spelled_out if spelled_out in findings.lines else at, part.path, findings)
    if part.fold and part.type != "string":
        findings.fault((*at, "fold"), f"type {part.type} has no case", 'Take "fold" out, or make the part a string.')
    if problem_with(part.path) is not None:
        return
    example = f'"{{path: {part.path}, name: ...}}"'
    if not _PART_NAME.fullmatch(part.name):
        what = f'"{part.name}" is not a name for a part' if part.name else "the path does not say what to call the part"
        findings.fault(at, what, f"Give it a name of letters, digits and _, a letter first: {example}.")
    elif part.name in RESERVED_NAMES:
        findings.fault(at, f'"{part.name}" is a parameter of every lookup', f"Give it a name of its own: {example}.")


def _check_part_names(index: Index, findings: Findings) -> None:
    seen: set[str] = set()
    halves = [("partition", n) for n, _ in enumerate(index.partition)] + [("sort", n) for n, _ in enumerate(index.sort)]
    for part, place in zip(index.parts, halves, strict=True):
        if part.name and part.name in seen:
            fix = f'Give one of them another name: "{{path: {part.path}, name: ...}}".'
            findings.fault(("indexes", index.name, *place), f'two parts are called "{part.name}"', fix)
        seen.add(part.name)


def _check_each(index: Index, findings: Findings) -> None:
    if index.each is None:
        return
    at: KeyPath = ("indexes", index.name, "each", index.each.name)
    if not _PART_NAME.fullmatch(index.each.name):
        findings.fault(
            at, f'"{index.each.name}" is not a name for an element', "Use letters, digits and _, a letter first."
        )
    check_expression(at, index.each.path, findings)


def _check_project(index: Index, source: Source | None, findings: Findings) -> None:
    at: KeyPath = ("indexes", index.name, "project")
    if index.project == "keys" and source is not None and source.cosmos is None:
        fix = 'Use "all" or a list of paths: there is no container to fetch the fact from.'
        findings.fault(at, '"project: keys" needs a source with "cosmos"', fix)
    if isinstance(index.project, str):
        return
    for number, path in enumerate(index.project):
        if segments(path) is None:
            fix = "Use names with dots between them, other names in quotes: '\"Major Genre\"'."
            findings.fault((*at, number), f'"{path}" is not a dotted path', fix)
        elif path in index.project[:number]:
            findings.fault((*at, number), f'"{path}" is listed twice', "Take one out.")
