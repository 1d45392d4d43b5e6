"""Which leases a host takes, so that hosts share the work evenly and take over from hosts that died."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Holding:
    """A lease as a host sees it: its owner, or None when it is free."""

    lease_id: str
    owner: str | None


def leases_to_take(holdings: Sequence[Holding], me: str) -> list[str]:
    """The leases that `me` should take now: free ones up to a fair share, else one of a host that has too many.

    Taking one at a time from another host keeps two hosts from tossing leases back and forth.
    """
    counts = Counter(holding.owner for holding in holdings if holding.owner is not None)
    mine = counts.setdefault(me, 0)
    fair_share = math.ceil(len(holdings) / len(counts))
    missing = fair_share - mine
    free = [holding.lease_id for holding in holdings if holding.owner is None]
    if missing <= 0:
        return []
    if free:
        return free[:missing]
    richest, most = counts.most_common(1)[0]
    # With shares that cannot be equal, the host with the larger one keeps it.
    if most <= fair_share and most - mine < 2:
        return []
    return [next(holding.lease_id for holding in holdings if holding.owner == richest)]
