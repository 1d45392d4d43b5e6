"""The entries that a fact still has. Entries of periods that are over are gone, but its ledger row still lists them.

All code that acts on ledger rows reads their states through this function. Pure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shared.entries.projection.generations import Generation
    from shared.pipeline.ledger.rows import GenerationState


def without_expired_periods(state: GenerationState, generation: Generation, now_seconds: float) -> GenerationState:
    """A state without the entries of periods that are over; the same object when there are none."""
    if generation.periods is None:
        return state
    current = tuple([entry for entry in state.current if not generation.is_over(entry.partition, now_seconds)])
    removed = tuple([entry for entry in state.removed if not generation.is_over(entry.partition, now_seconds)])
    if len(current) == len(state.current) and len(removed) == len(state.removed):
        return state
    return replace(state, current=current, removed=removed)
