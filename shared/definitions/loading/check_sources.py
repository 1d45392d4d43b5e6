"""Checks of sources: names, paths, and how their keys depend on each other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shared.definitions.expressions import problem_with
from shared.definitions.field_paths import segments
from shared.definitions.loading.check_texts import check_expression, check_name
from shared.definitions.model import Events

if TYPE_CHECKING:
    from collections.abc import Collection

    from shared.definitions.loading.findings import Findings, KeyPath
    from shared.definitions.model import CosmosContainer, Definitions, Source

_COSMOS_KEY_LEVELS_MAX: Final = 3
# From Microsoft's "Naming rules and restrictions for Azure resources" and the quota pages of Cosmos DB and Event Hubs.
_COSMOS_CHARACTERS_MAX: Final = 255
_COSMOS_FORBIDDEN: Final = re.compile(r"[/\\#?\x00-\x1f]| $")
_HUB: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,254}[A-Za-z0-9])?")
# `LEASE_CONTAINER` of the triggers: there is one beside the facts in every database.
_LEASES: Final = "leases"


def check_sources(definitions: Definitions, findings: Findings) -> None:
    """Report every fault of the sources."""
    for source in definitions.sources.values():
        _check_source(source, findings)
    _check_hubs(definitions, findings)


def _check_source(source: Source, findings: Findings) -> None:
    at: KeyPath = ("sources", source.name)
    check_name(at, source.name, findings)
    if source.cosmos is None and source.event_hub is None:
        findings.fault(at, 'the source has neither "cosmos" nor "eventHub"', "Say where its facts come from.")
    if source.cosmos is not None:
        _check_cosmos(at, source, findings)
    _check_names(source, findings)
    if source.cosmos and source.event_hub and source.version is None:
        fix = 'Declare "version": the clocks of a container and a hub cannot be compared.'
        findings.fault(at, 'a source with both "cosmos" and "eventHub" has no "version"', fix)
    _check_deletes(at, source, findings)
    _check_paths(at, source, findings)
    if source.event_hub is None:
        if (*at, "events") in findings.lines:
            findings.fault((*at, "events"), '"events" needs an "eventHub"', 'Name the hub, or take "events" out.')
    else:
        _check_events((*at, "events"), source, findings)


def _check_paths(at: KeyPath, source: Source, findings: Findings) -> None:
    """The paths of the source itself; those of its mapping, which may stand in for them, are checked with it."""
    mapped = source.events
    if source.id != mapped.id:
        check_expression((*at, "id"), source.id, findings)
    if source.version != mapped.version:
        check_expression((*at, "version"), source.version, findings)
    if source.partition_key != mapped.partition_key:
        for number, path in enumerate(source.partition_key):
            check_expression((*at, "partitionKey", number), path, findings)


def _check_events(at: KeyPath, source: Source, findings: Findings) -> None:
    events = source.events
    own = {"id": events.id, "version": events.version, "document": events.document, "delete": events.delete}
    for key, path in (("when", events.when), *own.items()):
        check_expression((*at, key), path, findings)
    for number, path in enumerate(events.partition_key):
        check_expression((*at, "partitionKey", number), path, findings)
    given = [key for key in (*own, "partitionKey") if (*at, key) in findings.lines]
    if events.form != "mapping" and given:
        what = f'"{given[0]}" does not go with "form: {events.form}", which already says where it is'
        findings.fault((*at, given[0]), what, "Take one of the two out.")
    if events == Events("mapping"):
        fix = "Say where each value is, such as \"{when: type == 'changed', document: data}\", or name a form."
        findings.fault(at, "the mapping is empty", fix)
    _check_said_once(at, source, given, findings)


def _check_said_once(at: KeyPath, source: Source, given: Collection[str], findings: Findings) -> None:
    """A container has paths of its own. Without one, a key beside the same key of the mapping would mean nothing."""
    if source.cosmos is None:
        for key in given:
            if (*at[:2], key) in findings.lines:
                fix = f'Take the outer one out: "events.{key}" already says where it is.'
                findings.fault((*at[:2], key), f'"{key}" is given twice, here and in "events"', fix)
    elif source.events.partition_key and len(source.events.partition_key) != len(source.partition_key):
        what = f"it has {len(source.events.partition_key)} paths, the partition key {len(source.partition_key)}"
        findings.fault((*at, "partitionKey"), what, "Name as many paths as the container's partition key has.")


def _check_cosmos(at: KeyPath, source: Source, findings: Findings) -> None:
    if len(source.partition_key) > _COSMOS_KEY_LEVELS_MAX:
        findings.fault((*at, "partitionKey"), "Cosmos DB has at most three levels", "Name the container's own paths.")
    if any(segments(path) is None and problem_with(path) is None for path in source.partition_key):
        fix = 'Use the container\'s partition key path, with dots: "customer.id".'
        findings.fault((*at, "partitionKey"), "the partition key of a container is not an expression", fix)
    if source.id != "id":
        fix = "Take the key out; to index that field, use it in an index."
        findings.fault((*at, "id"), 'the id of a Cosmos DB fact is always "id"', fix)


def _check_names(source: Source, findings: Findings) -> None:
    """Report every name of a source that Azure would refuse, or that is taken."""
    at: KeyPath = ("sources", source.name)
    if source.cosmos is not None:
        _check_cosmos_names((*at, "cosmos"), source.cosmos, findings)
    if source.event_hub is not None and not _HUB.fullmatch(source.event_hub):
        fix = 'Use at most 256 letters, digits, ".", "-" and "_", with a letter or digit at both ends.'
        findings.fault((*at, "eventHub"), f'"{source.event_hub}" is not a name of an event hub', fix)


def _check_cosmos_names(at: KeyPath, cosmos: CosmosContainer, findings: Findings) -> None:
    for key, name in (("database", cosmos.database), ("container", cosmos.container)):
        if len(name) > _COSMOS_CHARACTERS_MAX or _COSMOS_FORBIDDEN.search(name):
            fix = f'Use at most {_COSMOS_CHARACTERS_MAX} characters, no "/ \\ # ?", no space at the end.'
            findings.fault((*at, key), f'"{name}" is not a name of a Cosmos DB {key}', fix)
    if cosmos.container == _LEASES:
        what = f'"{_LEASES}" is the container of the leases: the triggers would follow their own'
        findings.fault((*at, "container"), what, "Keep facts in a container of another name.")


def _check_deletes(at: KeyPath, source: Source, findings: Findings) -> None:
    deletes = (*at, "deletes")
    check_expression((*deletes, "when"), source.deleted_when, findings)
    if deletes in findings.lines and (source.deleted_when is None) != source.all_versions:
        findings.fault(deletes, '"deletes" takes one of "when" and "feed"', "Give it exactly one of the two.")
    if source.all_versions and source.cosmos is None:
        fix = "Take it out: an event hub carries its deletes as events."
        findings.fault((*deletes, "feed"), 'only a source with "cosmos" has an all versions feed', fix)
    if source.all_versions and source.version is not None:
        fix = 'Use "deletes: {when: ...}", or take "version" out: hard deletes carry no declared version.'
        findings.fault((*deletes, "feed"), '"feed: allVersions" cannot go with a declared "version"', fix)


def _check_hubs(definitions: Definitions, findings: Findings) -> None:
    """Azure does not tell names of hubs apart by case; the triggers and the templates here do."""
    spelled: dict[str, str] = {}
    for source in definitions.sources.values():
        hub = source.event_hub or ""
        first = spelled.setdefault(hub.lower(), hub)
        if first != hub:
            what = f'the hub "{hub}" is "{first}" in another source'
            findings.fault(("sources", source.name, "eventHub"), what, "Spell it in the same way.")
