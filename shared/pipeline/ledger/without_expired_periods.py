"""What is still there of a fact: entries of periods that are over are gone, though nobody has touched its ledger row.

Everything that acts on ledger rows looks at them through this. Pure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shared.entries.projection.generations import Generation
    from shared.pipeline.ledger.rows import GenerationState


def without_expired_periods(part: GenerationState, generation: Generation, now_seconds: float) -> GenerationState:
    """A part without the entries of periods that are over; the same object when there are none."""
    if generation.periods is None:
        return part
    live = tuple([one for one in part.current if not generation.is_over(one.partition, now_seconds)])
    left = tuple([one for one in part.removed if not generation.is_over(one.partition, now_seconds)])
    if len(live) == len(part.current) and len(left) == len(part.removed):
        return part
    return replace(part, current=live, removed=left)
