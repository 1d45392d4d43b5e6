"""Coalescing: of the changes of one batch only the newest of each fact is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.entries.changes.change import Change


def newest_of_each(changes: Iterable[Change]) -> list[Change]:
    """The newest change of each fact; of two with the same version the later."""
    newest: dict[str, Change] = {}
    for change in changes:
        other = newest.get(change.fact_key)
        if other is None or other.version <= change.version:
            newest[change.fact_key] = change
    return list(newest.values())
