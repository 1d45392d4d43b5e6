"""Running a prepared query page by page, and the continuation between two pages.

A continuation says which item, or which place in the order, came last; never how many results came before,
because items come and go between two pages.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from local.emulators.cosmos.data.scan import START
from local.emulators.cosmos.errors import BadRequestError
from local.emulators.cosmos.routes.ordering import Place, PlaceOrder
from local.emulators.cosmos.routes.paging import MAX_PAGE_BYTES, fitting

if TYPE_CHECKING:
    from local.emulators.cosmos.data.scan import Scan
    from local.emulators.cosmos.routes.ordering import Resume
    from local.emulators.cosmos.sql.prepare import PreparedQuery


@dataclass(frozen=True, slots=True)
class Continuation:
    """Where the last page ended, and of which query it was."""

    fingerprint: int
    after: int
    taken: int
    sort_keys: list[Any] | None = None

    def encode(self) -> str:
        fields = [self.fingerprint, self.after, self.taken, self.sort_keys]
        return base64.urlsafe_b64encode(orjson.dumps(fields)).decode()

    @classmethod
    def decode(cls, text: str, query: PreparedQuery) -> Continuation:
        """Read a continuation and make sure that it belongs to `query`."""
        try:
            fingerprint, after, taken, sort_keys = orjson.loads(base64.urlsafe_b64decode(text))
        except (binascii.Error, ValueError, TypeError) as error:
            raise BadRequestError("Invalid Continuation Token: it cannot be read. Start the query again.") from error
        shapes = (_is_serial(after), isinstance(taken, int))
        if fingerprint != query.fingerprint or not all(shapes) or not _fits(sort_keys, query):
            raise BadRequestError("Invalid Continuation Token: it belongs to another query. Start the query again.")
        return cls(fingerprint, after, taken, sort_keys)

    @property
    def place(self) -> Place:
        """Where an ordered query goes on."""
        return Place([(rank, value) for rank, value in self.sort_keys or []], self.after)


def _is_serial(value: Any) -> bool:
    return isinstance(value, int) and START <= value < 2**63


def _fits(sort_keys: Any, query: PreparedQuery) -> bool:
    if not query.order:
        return sort_keys is None
    return (
        isinstance(sort_keys, list)
        and len(sort_keys) == len(query.order)
        and all(isinstance(each, list) and len(each) == 2 and _is_sort_key(*each) for each in sort_keys)
    )


def _is_sort_key(rank: Any, value: Any) -> bool:
    if rank == 5:
        return isinstance(value, str)
    return isinstance(rank, int) and isinstance(value, (int, float))


@dataclass(frozen=True, slots=True)
class Page:
    """Some results, how many documents were looked at, and where to go on."""

    rows: list[bytes]
    scanned: int
    continuation: Continuation | None


async def run_page(
    query: PreparedQuery, scan: Scan, size: int, start: Continuation | None, resume: Resume | None
) -> Page:
    """The next page of at most `size` results."""
    if query.aggregates:
        return await _aggregated(query, scan)
    if query.order:
        return await _ordered(query, scan, size, start, resume)
    return await _plain(query, scan, size, start)


async def _aggregated(query: PreparedQuery, scan: Scan) -> Page:
    accumulators = query.accumulators()
    scanned = 0
    async for _, body in scan.rows():
        scanned += 1
        document = orjson.loads(body)
        if query.matches(document):
            for accumulator, (_, evaluate) in zip(accumulators, query.aggregates, strict=True):
                accumulator.add(evaluate(document))
    result = query.result([accumulator.result() for accumulator in accumulators])
    return Page([] if result is None else [result], scanned, None)


async def _plain(query: PreparedQuery, scan: Scan, size: int, start: Continuation | None) -> Page:
    reads_document = query.where is not None or not query.gives_documents
    to_skip, taken = (0, start.taken) if start else (query.offset, 0)
    after = start.after if start else START
    rows: list[bytes] = []
    page_bytes = scanned = 0
    async for serial, body in scan.rows(after):
        if query.limit is not None and taken >= query.limit:
            break
        scanned += 1
        document = orjson.loads(body) if reads_document else None
        result = query.result(document, body) if query.matches(document) else None
        if result is None:
            continue
        if to_skip:
            to_skip -= 1
            continue
        if rows and (len(rows) == size or page_bytes > MAX_PAGE_BYTES):
            return Page(rows, scanned, Continuation(query.fingerprint, after, taken))
        rows.append(result)
        page_bytes += len(result)
        taken, after = taken + 1, serial
    return Page(rows, scanned, None)


async def _ordered(
    query: PreparedQuery, scan: Scan, size: int, start: Continuation | None, resume: Resume | None
) -> Page:
    found: list[tuple[Place, bytes]] = []
    scanned = 0
    async for serial, body in scan.rows():
        scanned += 1
        document = orjson.loads(body)
        result = query.result(document, body) if query.matches(document) else None
        if result is not None:
            found.append((Place(query.sort_keys(document), serial), result))
    order = PlaceOrder(query.descending)
    found.sort(key=lambda each: order.key(each[0]))
    if resume is not None:
        found = [each for each in found if resume.includes(each[0], order)]
    if start is None:
        found, taken = found[query.offset :], 0
    else:
        found, taken = [each for each in found if order.compare(each[0], start.place) > 0], start.taken
    if query.limit is not None:
        found = found[: query.limit - taken]
    page = found[: fitting(result for _, result in found[:size])]
    rows = [result for _, result in page]
    if len(page) == len(found):
        return Page(rows, scanned, None)
    end = page[-1][0]
    return Page(rows, scanned, Continuation(query.fingerprint, end.serial, taken + len(page), list(end.sort_keys)))
