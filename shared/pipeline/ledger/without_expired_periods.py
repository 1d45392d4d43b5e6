"""What is still there of a fact: entries of periods that are over are gone, though nobody has touched its ledger row.

Everything that acts on ledger rows looks at them through this. Pure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shared.entries.projection.generations import Generation
    from shared.entries.projection.project_all import Projected
    from shared.pipeline.ledger.rows import Part


def present(part: Part, generation: Generation, now_seconds: float) -> Part:
    """A part without the entries of periods that are over; the same object when there are none."""
    if generation.periods is None:
        return part
    live = tuple([one for one in part.live if not generation.is_over(one.partition, now_seconds)])
    left = tuple([one for one in part.left if not generation.is_over(one.partition, now_seconds)])
    if len(live) == len(part.live) and len(left) == len(part.left):
        return part
    return replace(part, live=live, left=left)


def present_entries(one: Projected, now_seconds: float) -> Projected:
    """A projection likewise: a late change of a period that is over is no error, and makes no table anew."""
    generation = one.generation
    if generation.periods is None:
        return one
    entries = tuple([entry for entry in one.entries if not generation.is_over(entry.partition_key, now_seconds)])
    return one if len(entries) == len(one.entries) else one._replace(entries=entries)
