"""The shape of a verification's report, as it is stored and answered."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from shared.definitions.answer_types import Count
from shared.verification.differences import DifferenceKind


class FoundCountsJson(TypedDict):
    """What was read and counted, in the order in which people want to see it."""

    facts: Count
    ledgerRows: Count
    rows: Count
    entries: Count
    tombstones: Count
    masked: Count


class WorkCountsJson(TypedDict):
    """What was examined and done about it."""

    examined: Count
    behind: Count
    deadLetters: Count
    repaired: Count
    unrepaired: Count
    swept: Count


class DifferenceJson(TypedDict):
    """One difference; of an entry when it has a key, and of a known fact when it has an id."""

    kind: DifferenceKind
    factKey: str
    id: NotRequired[str]
    partitionKey: NotRequired[Any]
    PartitionKey: NotRequired[str]
    RowKey: NotRequired[str]
    version: NotRequired[str]


class VerificationCountsJson(FoundCountsJson, WorkCountsJson):
    """All counts.

    `owing`: facts whose entries wait for a storage account that was down; they arrive by themselves. `events`: events
    that the hub still had. `untold`: facts of which it had no event any more; from some thousand facts on, about.
    """

    owing: NotRequired[Count]
    events: NotRequired[Count]
    untold: NotRequired[Count]


class DifferenceReportJson(VerificationCountsJson):
    """Counts, and a few differences."""

    differences: dict[DifferenceKind, Count]
    total: Count
    examples: list[DifferenceJson]
