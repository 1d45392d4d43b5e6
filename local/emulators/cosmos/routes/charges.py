"""Request charges: a plausible number of request units, so that code that reads the header has one to read.

The shape follows the published rules of thumb: a read costs 1 per KB, a write about 5 per KB, a query a
base price plus its share per document looked at and per KB returned. The numbers are no forecast of a bill.
"""

from __future__ import annotations

import math

QUERY_BASE = 2.3
QUERY_PER_SCANNED = 0.03
PER_KB_RETURNED = 0.3


def _kilobytes(size_bytes: int) -> int:
    return max(1, math.ceil(size_bytes / 1024))


def read_charge(size_bytes: int) -> float:
    return float(_kilobytes(size_bytes))


def write_charge(size_bytes: int) -> float:
    return 5.0 * _kilobytes(size_bytes)


def query_charge(scanned: int, size_bytes: int) -> float:
    return round(QUERY_BASE + QUERY_PER_SCANNED * scanned + PER_KB_RETURNED * _kilobytes(size_bytes), 2)


def feed_charge(size_bytes: int) -> float:
    return round(1.0 + PER_KB_RETURNED * (size_bytes / 1024), 2)
