"""Checks of when entries go: the time, and tables per period that lookups can still read together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shared.definitions.loading.findings import Findings
    from shared.definitions.model import Index, PeriodLength

# A lookup reads all of them at once, for every shard: no more than an index without periods may have shards.
TABLES_MAX: Final = 32
REQUESTS_MAX: Final = 256
_DAY_SECONDS: Final = 86_400
_SHORTEST_DAYS: Final[dict[PeriodLength, int]] = {"day": 1, "week": 7, "month": 28}


def tables_at_once(length: PeriodLength, after_seconds: int) -> int:
    """How many periods there are at most from now to the time that a new entry expires, and one ahead."""
    return -(-after_seconds // (_SHORTEST_DAYS[length] * _DAY_SECONDS)) + 2


def check_periods(index: Index, findings: Findings) -> None:
    """Check `expire.tables` of an index."""
    expire = index.expire
    if expire is None or expire.tables is None:
        return
    at = ("indexes", index.name, "expire", "tables")
    shards = max([index.shards, *(count for _, count in index.hot)])
    if expire.after_seconds < _SHORTEST_DAYS[expire.tables] * _DAY_SECONDS:
        what = f"entries would stay for up to a {expire.tables}, longer than they live"
        findings.fault(at, what, "Take `tables` out, use shorter periods, or a longer `after`.")
    elif (count := tables_at_once(expire.tables, expire.after_seconds)) > TABLES_MAX:
        what = f"a lookup would read {count} tables at once, over the limit of {TABLES_MAX}"
        findings.fault(at, what, "Use longer periods or a shorter `after`, or take `tables` out.")
    elif (requests := (count + 1) * shards) > REQUESTS_MAX:
        what = f"a lookup would send {requests} requests at once, for {count + 1} tables and {shards} shards"
        findings.fault(at, what, f"Use longer periods or fewer shards: {REQUESTS_MAX} are allowed.")
