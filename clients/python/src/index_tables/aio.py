"""The client that awaits its answers: the same calls as `index_tables.client`.

from index_tables import AsyncIndexTables

async with AsyncIndexTables("https://NAME.azurewebsites.net", key="…") as tables:
    async for entry in tables.index("customers-by-town").find(town="Redmond"):
        print(entry.data["phone"])
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, Self, TypeVar, Unpack

import httpx

from index_tables.answers import Count, Entry, Explanation, Page
from index_tables.callers import AsyncCredential, Caller
from index_tables.client import ANSWER_SECONDS, CONNECT_SECONDS
from index_tables.errors import ProblemError
from index_tables.flows import App, Flow, IndexFlows, Patience, Request, Wait, content_of
from index_tables.values import Options

T = TypeVar("T")
K = TypeVar("K")
D = TypeVar("D")


class AsyncIndexTables:
    """The indexes of an app, as `IndexTables` has them; `http` is an `httpx.AsyncClient` of your own."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        credential: AsyncCredential | None = None,
        scope: str | None = None,
        timeout: float = ANSWER_SECONDS,
        patience: Patience | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._app = App.at(url, patience or Patience())
        self._caller = Caller(key, credential, scope)
        self._timeout = httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
        self._owns_http = http is None
        self._http = http or httpx.AsyncClient()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close its connections."""
        if self._owns_http:
            await self._http.aclose()

    def index(self, name: str) -> AsyncIndex[dict[str, Any], dict[str, Any]]:
        """An index by its name, which is not asked for before it is looked up."""
        return AsyncIndex(self, name)

    async def indexes(self) -> list[dict[str, Any]]:
        """All indexes as the app describes them: names, keys, what they project."""
        found: list[dict[str, Any]] = content_of(await self.run(self._app.get("/api/indexes")))["value"]
        return found

    async def run(self, flow: Flow[T]) -> T:
        """Do what a flow asks for; its result."""
        send: Callable[[], Request | Wait] = partial(next, flow)
        while True:
            try:
                step = send()
            except StopIteration as done:
                result: T = done.value
                return result
            send = await self._done(flow, step)

    async def _done(self, flow: Flow[T], step: Request | Wait) -> Callable[[], Request | Wait]:
        """Does a step; how the flow goes on from there."""
        if isinstance(step, Wait):
            await asyncio.sleep(step.seconds)
            return partial(flow.send, None)
        try:
            answer = await self._http.request(
                step.method,
                step.url,
                headers={**step.headers, **await self._headers()},
                json=step.json,
                timeout=self._timeout,
                follow_redirects=False,
            )
        except httpx.TransportError as error:
            return partial(flow.throw, error)
        return partial(flow.send, answer)

    async def _headers(self) -> dict[str, str]:
        token = self._caller.token()
        return self._caller.headers(await token if inspect.isawaitable(token) else token)

    def flows(self, name: str) -> IndexFlows[Any, Any]:
        """The calls about one index."""
        return IndexFlows(self._app, name)


class AsyncIndex(Generic[K, D]):
    """An index, asked as `Index` is."""

    def __init__(self, tables: AsyncIndexTables, name: str) -> None:
        self.name = name
        self._tables = tables
        self._flows: IndexFlows[K, D] = tables.flows(name)

    async def find(self, conditions: Mapping[str, Any] | None = None, /, **asked: Any) -> AsyncIterator[Entry[K, D]]:
        """Every entry, over all pages."""
        async for page in self.pages(conditions, **asked):
            for entry in page:
                yield entry

    async def pages(self, conditions: Mapping[str, Any] | None = None, /, **asked: Any) -> AsyncIterator[Page[K, D]]:
        """Every page."""
        page: Page[K, D] | None = await self.page(conditions, **asked)
        while page is not None:
            yield page
            page = await self.next_page(page)

    async def page(self, conditions: Mapping[str, Any] | None = None, /, **asked: Any) -> Page[K, D]:
        """The first page."""
        return await self._tables.run(self._flows.page({**(conditions or {}), **asked}))

    async def next_page(self, page: Page[K, D]) -> Page[K, D] | None:
        """The page after this one; None after the last one."""
        return await self._tables.run(self._flows.next_page(page))

    async def refresh(self, page: Page[K, D]) -> Page[K, D]:
        """The same page as it is now: the very same object when it has not changed."""
        return await self._tables.run(self._flows.refresh(page))

    async def get_many(
        self,
        lookups: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any] | None = None,
        /,
        **asked: Unpack[Options],
    ) -> list[Page[K, D] | ProblemError]:
        """The first page of each lookup, or the problem that it has instead, in the order asked."""
        return await self._tables.run(self._flows.get_many(lookups, {**(options or {}), **asked}))

    async def count(self, conditions: Mapping[str, Any] | None = None, /, **asked: Any) -> Count:
        """How many entries there are."""
        return await self._tables.run(self._flows.count({**(conditions or {}), **asked}))

    async def explain(self, conditions: Mapping[str, Any] | None = None, /, **asked: Any) -> Explanation:
        """How that lookup would run."""
        return await self._tables.run(self._flows.explain({**(conditions or {}), **asked}))

    async def describe(self) -> dict[str, Any]:
        """The index as the app describes it: its key, what it projects, and which generation serves."""
        return await self._tables.run(self._flows.describe())
