"""What the shape cannot say: names, paths, and how keys depend on each other.

`check` reports every fault it finds; definitions without a fault can be projected, kept and looked up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shared.definitions.expressions import problem_with
from shared.definitions.field_paths import segments
from shared.definitions.loading.check_layout import check_layout, check_periods
from shared.definitions.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection

    from shared.definitions.loading.findings import Findings, KeyPath
    from shared.definitions.model import CosmosContainer, Definitions, Index, KeyPart, Source

# Parameters of a lookup that are not key parts.
RESERVED_NAMES: Final = frozenset({"code", "clientId", "select", "expand", "sees", "maxpagesize", "token"})
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_PART_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_COSMOS_KEY_LEVELS_MAX: Final = 3
_SHOWN_MAX: Final = 100
# From Microsoft's "Naming rules and restrictions for Azure resources" and the quota pages of Cosmos DB and Event Hubs.
_COSMOS_CHARACTERS_MAX: Final = 255
_COSMOS_FORBIDDEN: Final = re.compile(r"[/\\#?\x00-\x1f]| $")
_HUB: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,254}[A-Za-z0-9])?")
# `LEASE_CONTAINER` of the triggers: there is one beside the facts in every database.
_LEASES: Final = "leases"


def check(definitions: Definitions, declared_sources: Collection[str], findings: Findings) -> None:
    """Check it all. `declared_sources` also names those that were left out for faults of their own."""
    for source in definitions.sources.values():
        _check_source(source, findings)
    _check_hubs(definitions, findings)
    _check_cases("sources", definitions.sources, findings)
    _check_cases("indexes", definitions.indexes, findings)
    for index in definitions.indexes.values():
        _check_index(index, definitions.sources.get(index.source), declared_sources, findings)


def _check_cases(at: str, names: Collection[str], findings: Findings) -> None:
    """Functions are named after sources and indexes, and the host tells them apart without regard to case."""
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(name.lower(), name)
        if other != name:
            findings.fault((at, name), f'the name differs from "{other}" only in case', "Choose another name.")


def _check_name(path: KeyPath, name: str, findings: Findings) -> None:
    if not _NAME.fullmatch(name):
        findings.fault(path, f'"{name}" is no name', "Use up to 63 letters, digits, - and _, a letter first.")


def _check_expression(path: KeyPath, text: str | None, findings: Findings) -> None:
    if text is None or (problem := problem_with(text)) is None:
        return
    if text.startswith("/"):
        fix = f"Paths have dots and no slashes: `{text.strip('/').replace('/', '.')}`."
    else:
        fix = "Correct the JMESPath expression; a field name with other characters is quoted: '\"Major Genre\"'."
    shown = text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"
    findings.fault(path, f"`{shown}` is no expression: {problem}", fix)


def _check_source(source: Source, findings: Findings) -> None:
    at: KeyPath = ("sources", source.name)
    _check_name(at, source.name, findings)
    if source.cosmos is None and source.event_hub is None:
        findings.fault(at, "the source has neither `cosmos` nor `eventHub`", "Say where its facts come from.")
    if source.cosmos is not None:
        _check_cosmos(at, source, findings)
    _check_names(source, findings)
    if source.cosmos and source.event_hub and source.version is None:
        fix = "Declare `version`: the clocks of a container and a hub cannot be compared."
        findings.fault(at, "a source with both `cosmos` and `eventHub` has no `version`", fix)
    _check_deletes(at, source, findings)
    _check_expression((*at, "id"), source.id, findings)
    _check_expression((*at, "version"), source.version, findings)
    for number, path in enumerate(source.partition_key):
        _check_expression((*at, "partitionKey", number), path, findings)


def _check_cosmos(at: KeyPath, source: Source, findings: Findings) -> None:
    if len(source.partition_key) > _COSMOS_KEY_LEVELS_MAX:
        findings.fault((*at, "partitionKey"), "Cosmos DB has at most three levels", "Name the container's own paths.")
    if any(segments(path) is None and problem_with(path) is None for path in source.partition_key):
        fix = "Use the container's partition key path, with dots: `customer.id`."
        findings.fault((*at, "partitionKey"), "the partition key of a container is no expression", fix)
    if source.id != "id":
        fix = "Take the key out; to index that field, use it in an index."
        findings.fault((*at, "id"), "the id of a Cosmos DB fact is always `id`", fix)


def _check_names(source: Source, findings: Findings) -> None:
    """Report every name of a source that Azure would refuse, or that is taken."""
    at: KeyPath = ("sources", source.name)
    if source.cosmos is not None:
        _check_cosmos_names((*at, "cosmos"), source.cosmos, findings)
    if source.event_hub is not None and not _HUB.fullmatch(source.event_hub):
        fix = "Use at most 256 letters, digits, `.`, `-` and `_`, with a letter or digit at both ends."
        findings.fault((*at, "eventHub"), f'"{source.event_hub}" is no name of an event hub', fix)


def _check_cosmos_names(at: KeyPath, cosmos: CosmosContainer, findings: Findings) -> None:
    for key, name in (("database", cosmos.database), ("container", cosmos.container)):
        if len(name) > _COSMOS_CHARACTERS_MAX or _COSMOS_FORBIDDEN.search(name):
            fix = f"Use at most {_COSMOS_CHARACTERS_MAX} characters, no `/ \\ # ?`, no space at the end."
            findings.fault((*at, key), f'"{name}" is no name of a Cosmos DB {key}', fix)
    if cosmos.container == _LEASES:
        what = f'"{_LEASES}" is where the triggers keep their leases, which they would follow'
        findings.fault((*at, "container"), what, "Keep facts in a container of another name.")


def _check_deletes(at: KeyPath, source: Source, findings: Findings) -> None:
    deletes = (*at, "deletes")
    _check_expression((*deletes, "when"), source.deleted_when, findings)
    if deletes in findings.lines and (source.deleted_when is None) != source.all_versions:
        findings.fault(deletes, "`deletes` takes one of `when` and `feed`", "Give it exactly one of the two.")
    if source.all_versions and source.cosmos is None:
        fix = "Take it out: an event hub carries its deletes as events."
        findings.fault((*deletes, "feed"), "only a source with `cosmos` has an all versions feed", fix)
    if source.all_versions and source.version is not None:
        fix = "Use `deletes: {when: ...}`, or take `version` out: hard deletes carry no declared version."
        findings.fault((*deletes, "feed"), "`feed: allVersions` cannot go with a declared `version`", fix)


def _check_hubs(definitions: Definitions, findings: Findings) -> None:
    seen: dict[str, str] = {}
    for source in definitions.sources.values():
        if source.event_hub is None:
            continue
        if (first := seen.setdefault(source.event_hub.lower(), source.name)) != source.name:
            what = f'event hub "{source.event_hub}" already feeds the source "{first}"'
            findings.fault(("sources", source.name, "eventHub"), what, "Give each source a hub of its own.")


def _check_index(index: Index, source: Source | None, declared_sources: Collection[str], findings: Findings) -> None:
    at: KeyPath = ("indexes", index.name)
    _check_name(at, index.name, findings)
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
    _check_expression((*at, "where"), index.where, findings)
    _check_project(index, source, findings)
    check_layout(index, findings)
    if index.expire:
        _check_expression((*at, "expire", "path"), index.expire.path, findings)
        check_periods(index, findings)


def _check_part(at: KeyPath, part: KeyPart, findings: Findings) -> None:
    spelled_out = (*findings.as_written(at), "path")
    _check_expression(spelled_out if spelled_out in findings.lines else at, part.path, findings)
    if part.fold and part.type != "string":
        findings.fault((*at, "fold"), f"type {part.type} has no case", "Take `fold` out, or make the part a string.")
    if problem_with(part.path) is not None:
        return
    example = f"`{{path: {part.path}, name: ...}}`"
    if not _PART_NAME.fullmatch(part.name):
        what = f'"{part.name}" is no name for a part' if part.name else "the path does not say what to call the part"
        findings.fault(at, what, f"Give it a name of letters, digits and _, a letter first: {example}.")
    elif part.name in RESERVED_NAMES:
        findings.fault(at, f'"{part.name}" is a parameter of every lookup', f"Give it a name of its own: {example}.")


def _check_part_names(index: Index, findings: Findings) -> None:
    seen: set[str] = set()
    halves = [("partition", n) for n, _ in enumerate(index.partition)] + [("sort", n) for n, _ in enumerate(index.sort)]
    for part, place in zip(index.parts, halves, strict=True):
        if part.name and part.name in seen:
            fix = f"Give one of them another name: `{{path: {part.path}, name: ...}}`."
            findings.fault(("indexes", index.name, *place), f'two parts are called "{part.name}"', fix)
        seen.add(part.name)


def _check_each(index: Index, findings: Findings) -> None:
    if index.each is None:
        return
    at: KeyPath = ("indexes", index.name, "each", index.each.name)
    if not _PART_NAME.fullmatch(index.each.name):
        findings.fault(
            at, f'"{index.each.name}" is no name for an element', "Use letters, digits and _, a letter first."
        )
    _check_expression(at, index.each.path, findings)


def _check_project(index: Index, source: Source | None, findings: Findings) -> None:
    at: KeyPath = ("indexes", index.name, "project")
    if index.project == "keys" and source is not None and source.cosmos is None:
        fix = "Use `all` or a list of paths: there is no container to fetch the fact from."
        findings.fault(at, "`project: keys` needs a source with `cosmos`", fix)
    if isinstance(index.project, str):
        return
    for number, path in enumerate(index.project):
        if segments(path) is None:
            fix = "Use names with dots between them, other names in quotes: '\"Major Genre\"'."
            findings.fault((*at, number), f"`{path}` is no dotted path", fix)
        elif path in index.project[:number]:
            findings.fault((*at, number), f"`{path}` stands twice", "Take one out.")
