"""How many results a page holds, by number and by size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local.emulators.cosmos.errors import BadRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from local.emulators.cosmos.exchange import Call

# The service ends a page at this size.
MAX_PAGE_BYTES = 4 * 1024 * 1024
_DEFAULT = 100
# What -1, "as many as you like", means here.
_MANY = 1000
_MOST = 100_000


def page_size(call: Call) -> int:
    """The page size that the request asks for."""
    text = call.headers.get("x-ms-max-item-count", str(_DEFAULT))
    try:
        size = int(text)
    except ValueError:
        size = 0
    if size == 0 or size < -1:
        raise BadRequestError(f"x-ms-max-item-count {text!r} must be a positive number or -1.")
    return _MANY if size == -1 else min(size, _MOST)


def fitting(rows: Iterable[bytes]) -> int:
    """How many of the first rows fit into one answer; at least one, if there is one."""
    page_bytes = count = 0
    for row in rows:
        if page_bytes > MAX_PAGE_BYTES:
            break
        page_bytes += len(row)
        count += 1
    return count
