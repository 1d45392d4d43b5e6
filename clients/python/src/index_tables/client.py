"""The client that waits for its answers.

from index_tables import IndexTables

with IndexTables("https://NAME.azurewebsites.net", key="…") as tables:
    for entry in tables.index("customers-by-town").find(town="Redmond", lastName__ge="S"):
        print(entry.key["lastName"], entry.data["phone"])
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, Self, TypeVar, Unpack

import httpx

from index_tables.answers import Count, Entry, Explanation, Page
from index_tables.callers import Caller, Credential
from index_tables.errors import ProblemError
from index_tables.flows import App, Flow, IndexFlows, Patience, Request, Wait, content_of
from index_tables.values import Options

T = TypeVar("T")
K = TypeVar("K")
D = TypeVar("D")

CONNECT_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 60.0


class IndexTables:
    """The indexes of an app, called with a function key or, where the app takes tokens, with a credential.

    `credential` is a token, a function that gives one, or a credential of azure-identity together with the `scope` of
    the app. `http` is an `httpx.Client` of your own, for proxies and the like; it stays open.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        credential: Credential | None = None,
        scope: str | None = None,
        timeout: float = ANSWER_SECONDS,
        patience: Patience | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        self._app = App.at(url, patience or Patience())
        self._caller = Caller(key, credential, scope)
        self._timeout = httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
        self._owns_http = http is None
        self._http = http or httpx.Client()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        if self._owns_http:
            self._http.close()

    def index(self, name: str) -> Index[dict[str, Any], dict[str, Any]]:
        """An index by its name, which is not asked for before it is looked up."""
        return Index(self, name)

    def indexes(self) -> list[dict[str, Any]]:
        """All indexes as the app describes them: names, keys, what they project."""
        found: list[dict[str, Any]] = content_of(self.run(self._app.get("/api/indexes")))["value"]
        return found

    def run(self, flow: Flow[T]) -> T:
        """Do what a flow asks for; its result."""
        send: Callable[[], Request | Wait] = partial(next, flow)
        while True:
            try:
                step = send()
            except StopIteration as done:
                result: T = done.value
                return result
            send = self._done(flow, step)

    def _done(self, flow: Flow[T], step: Request | Wait) -> Callable[[], Request | Wait]:
        """Does a step; how the flow goes on from there."""
        if isinstance(step, Wait):
            time.sleep(step.seconds)
            return partial(flow.send, None)
        try:
            answer = self._http.request(
                step.method,
                step.url,
                headers={**step.headers, **self._caller.headers(self._caller.token())},
                json=step.json,
                timeout=self._timeout,
                follow_redirects=False,
            )
        except httpx.TransportError as error:
            return partial(flow.throw, error)
        return partial(flow.send, answer)

    def flows(self, name: str) -> IndexFlows[Any, Any]:
        """The calls about one index."""
        return IndexFlows(self._app, name)


class Index(Generic[K, D]):
    """An index. Conditions are keyword arguments: `town="Redmond"`, a list for any of several values, None for nulls,
    and `lastName__ge="S"` for `lastName.ge`. Where a part has the name of an option, give a mapping instead.
    """

    def __init__(self, tables: IndexTables, name: str) -> None:
        self.name = name
        self._tables = tables
        self._flows: IndexFlows[K, D] = tables.flows(name)

    def find(self, conditions: Mapping[str, Any] | None = None, /, **asked: Any) -> Iterator[Entry[K, D]]:
        """Every entry, over all pages."""
        for page in self.pages(conditions, **asked):
            yield from page

    def pages(self, conditions: Mapping[str, Any] | None = None, /, **asked: Any) -> Iterator[Page[K, D]]:
        """Every page."""
        page: Page[K, D] | None = self.page(conditions, **asked)
        while page is not None:
            yield page
            page = self.next_page(page)

    def page(self, conditions: Mapping[str, Any] | None = None, /, **asked: Any) -> Page[K, D]:
        """The first page."""
        return self._tables.run(self._flows.page({**(conditions or {}), **asked}))

    def next_page(self, page: Page[K, D]) -> Page[K, D] | None:
        """The page after this one; None after the last one."""
        return self._tables.run(self._flows.next_page(page))

    def refresh(self, page: Page[K, D]) -> Page[K, D]:
        """The same page as it is now: the very same object when it has not changed."""
        return self._tables.run(self._flows.refresh(page))

    def get_many(
        self,
        lookups: Sequence[Mapping[str, Any]],
        options: Mapping[str, Any] | None = None,
        /,
        **asked: Unpack[Options],
    ) -> list[Page[K, D] | ProblemError]:
        """The first page of each lookup, or the problem that it has instead, in the order asked."""
        return self._tables.run(self._flows.get_many(lookups, {**(options or {}), **asked}))

    def count(self, conditions: Mapping[str, Any] | None = None, /, **asked: Any) -> Count:
        """How many entries there are."""
        return self._tables.run(self._flows.count({**(conditions or {}), **asked}))

    def explain(self, conditions: Mapping[str, Any] | None = None, /, **asked: Any) -> Explanation:
        """How that lookup would run."""
        return self._tables.run(self._flows.explain({**(conditions or {}), **asked}))

    def describe(self) -> dict[str, Any]:
        """The index as the app describes it: its key, what it projects, and which generation serves."""
        return self._tables.run(self._flows.describe())
