"""The names that the templates take, for what they create from definitions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shared.app import settings
from shared.definitions.field_paths import segments
from shared.definitions.loading.findings import dotted_key
from shared.sources.partition_key import is_word
from shared.sources.trigger_leases import LEASE_CONTAINER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shared.definitions.loading.findings import Findings, KeyPath
    from shared.definitions.model import Definitions, Index, Source

# A connection is the beginning of app settings, and part of the name of a deployment, which has 64 characters.
_CONNECTION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,42}")
# In lower case: Azure compares the names of app settings and of deployments without case.
_TAKEN: Final = {
    name.lower()
    for name in {"AzureWebJobsStorage", *(setting.name for setting in settings.ALL)} - {settings.INDEX_STORAGE.name}
}


def check_names(definitions: Definitions, findings: Findings, *, makes_containers: bool) -> None:
    """Report every name that the templates would refuse; they make no containers in an account that is brought."""
    _check_case(definitions, findings, makes_containers=makes_containers)
    partition_keys: dict[tuple[str, str], tuple[str, ...]] = {}
    for source in definitions.sources.values():
        at: KeyPath = ("sources", source.name)
        if source.cosmos:
            _check_partition_key(source, findings)
            key = (source.cosmos.database, source.cosmos.container)
            if partition_keys.setdefault(key, source.partition_key) != source.partition_key:
                what = "another source names the same container with another partition key"
                findings.fault((*at, "partitionKey"), what, "Give both the container's own partition key.")
    spellings = {settings.INDEX_STORAGE.name.lower(): settings.INDEX_STORAGE.name}
    for index in definitions.indexes.values():
        _check_connections(index, spellings, findings)


def accounts_of(index: Index) -> set[str]:
    """The connections that an index's placement names."""
    return set() if index.placement is None else set(index.placement.named)


def _check_case(definitions: Definitions, findings: Findings, *, makes_containers: bool) -> None:
    """Report names that differ only in case, with both places: they are one name to Azure."""
    first: dict[tuple[str, str], tuple[str, KeyPath]] = {}
    for source in definitions.sources.values():
        if source.cosmos and source.cosmos.container.lower() == LEASE_CONTAINER:
            what = (
                f'the container "{source.cosmos.container}" and "{LEASE_CONTAINER}", which the templates make, are one '
            )
            findings.fault(("sources", source.name, "cosmos"), f"{what}name to Azure", "Choose another name.")
        for kind, within, name, at in _resources_of(source, makes_containers=makes_containers):
            other, other_at = first.setdefault((f"{kind} {within.lower()}", name.lower()), (name, at))
            if other != name:
                place = f"{dotted_key(other_at)} (line {findings.line_of(other_at)})"
                what = f'the {kind} "{name}" and "{other}" in {place} are one name to Azure'
                findings.fault(at, what, "Spell it in one way, or choose another name.")


def _resources_of(source: Source, *, makes_containers: bool) -> Iterator[tuple[str, str, str, KeyPath]]:
    """What the templates name after a source: its kind, what it is in, its name, and where that is written.

    Hubs are left out: definitions themselves allow no two that differ only in case.
    """
    if source.cosmos:
        at: KeyPath = ("sources", source.name, "cosmos")
        yield "database", "", source.cosmos.database, at
        if makes_containers:
            yield "container", source.cosmos.database, source.cosmos.container, at


def _check_partition_key(source: Source, findings: Findings) -> None:
    at: KeyPath = ("sources", source.name, "partitionKey")
    for path in source.partition_key:
        names = segments(path)
        # The templates write names without quotes, and Azure takes only words so.
        if names is None or not all(map(is_word, names)):
            fix = "Create that container yourself and deploy with EXISTING_COSMOS_ACCOUNT."
            findings.fault(at, f"the templates cannot make a partition key of {path}", fix)


def _check_connections(index: Index, spellings: dict[str, str], findings: Findings) -> None:
    """Report what cannot be a connection; `spellings` has those of all indexes so far, by their lower case."""
    at: KeyPath = ("indexes", index.name, "placement")
    for name in sorted(accounts_of(index)):
        if not _CONNECTION.fullmatch(name) or "__" in name:
            fix = 'Use at most 43 letters, digits and single "_", with a letter first: app settings begin with it.'
            findings.fault(at, f'"{name}" is not a name of a connection', fix)
        elif name.lower() in _TAKEN:
            findings.fault(at, f'"{name}" is a setting of something else', "Choose another name, such as INDEX_1.")
        elif (other := spellings.setdefault(name.lower(), name)) != name:
            fix = "Spell it in one way, or choose another name: case makes no difference there."
            findings.fault(at, f'"{name}" and "{other}" are one name to Azure', fix)
