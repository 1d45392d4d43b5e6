"""What calls do, without doing any input or output: written once for clients that wait and clients that await.

A flow is a generator. It yields a request and is sent the answer, or yields a wait and is sent nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast
from urllib.parse import quote

import httpx

from index_tables.answers import Count, Explanation, Page
from index_tables.errors import (
    ForeignAddressError,
    ProblemError,
    UnreachableError,
    problem_members,
    retry_after_seconds,
)
from index_tables.values import json_parameters, query_parameters, seen_as

T = TypeVar("T")
K = TypeVar("K")
D = TypeVar("D")

LOOKUPS_MAX: Final = 100
_MOMENTARY: Final = frozenset({429, 502, 503, 504})
_FIRST_WAIT_SECONDS: Final = 0.5
# Without the address itself, which may have a key in it.
_NO_ADDRESS: Final = (
    "The address of the app begins with https:// or http://, such as https://NAME.azurewebsites.net, without a key."
)


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the app; the key or token is added when it is sent."""

    method: str
    url: httpx.URL
    headers: Mapping[str, str] = field(default_factory=dict)
    json: Any = None


@dataclass(frozen=True, slots=True)
class Wait:
    """A pause before the next request."""

    seconds: float


Flow: TypeAlias = Generator[Request | Wait, httpx.Response | None, T]


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a call is tried again, and how long it may wait for that in all."""

    retries: int = 4
    wait_seconds: float = 30.0
    chance: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class App:
    """An app at an address. Its key goes to no other host."""

    base: httpx.URL
    patience: Patience

    @classmethod
    def at(cls, url: str, patience: Patience) -> App:
        """The app at this address; raises `ValueError` for what is none."""
        try:
            base = httpx.URL(url)
        except (TypeError, httpx.InvalidURL):
            raise ValueError(_NO_ADDRESS) from None
        if base.scheme not in {"http", "https"} or not base.host or base.query or base.userinfo:
            raise ValueError(_NO_ADDRESS)
        return cls(base.copy_with(fragment=None), patience)

    def get(
        self, path: str, parameters: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Flow[httpx.Response]:
        """A GET of a path below the app's address."""
        url = self.address(path)
        return self.exchange(Request("GET", url.copy_with(params=parameters) if parameters else url, headers or {}))

    def address(self, path: str) -> httpx.URL:
        """The whole address of a path, which is encoded already."""
        return self.base.copy_with(raw_path=self.base.raw_path.rstrip(b"/") + path.encode())

    def linked(self, link: str) -> httpx.URL:
        """The address of a link that the app has given; raises `ForeignAddressError` for one of another host."""
        url = self.base.join(link)
        if _origin(url) != _origin(self.base):
            raise ForeignAddressError(f"{self.base} names a page on {url.host!r}, which is not asked.")
        return url

    def exchange(self, request: Request) -> Flow[httpx.Response]:
        """The answer to a request, tried again while the app or what is before it says so."""
        waited = 0.0
        for attempt in range(self.patience.retries + 1):
            failure: UnreachableError | ProblemError
            try:
                answer = cast("httpx.Response", (yield request))
            except httpx.TransportError as error:
                failure = UnreachableError(f"{self.base} does not answer: {str(error) or type(error).__name__}")
                seconds = None if isinstance(error, httpx.ReadTimeout) else self._pause(attempt)
            else:
                if answer.is_success or answer.status_code == HTTPStatus.NOT_MODIFIED:
                    return answer
                if answer.is_redirect:
                    raise ForeignAddressError(f"{self.base} redirects elsewhere: if that is the app, name its address.")
                failure, seconds = ProblemError.of(answer), self._wait_after(answer, attempt)
            if seconds is None or attempt == self.patience.retries or waited + seconds > self.patience.wait_seconds:
                raise failure
            waited += seconds
            yield Wait(seconds)
        raise AssertionError("the last attempt returns or raises")

    def _wait_after(self, answer: httpx.Response, attempt: int) -> float | None:
        """How long to wait before trying again; None when that would not help, as the app says by silence."""
        if answer.status_code not in _MOMENTARY:
            return None
        asked = retry_after_seconds(answer)
        return self._pause(attempt) if asked is None and problem_members(answer) is None else asked

    def _pause(self, attempt: int) -> float:
        """Longer each time, and by chance, so that many clients do not come back at once."""
        return float(_FIRST_WAIT_SECONDS * 2**attempt * (0.5 + self.patience.chance()))


@dataclass(slots=True)
class IndexFlows(Generic[K, D]):
    """The calls about one index."""

    app: App
    name: str
    _identity: Mapping[str, Any] | None = None

    def page(self, asked: Mapping[str, Any]) -> Flow[Page[K, D]]:
        """The first page of a lookup."""
        parameters = query_parameters((yield from self._with_sees(asked)))
        answer = yield from self.app.get(self._path("entries"), parameters)
        return _page(answer)

    def next_page(self, page: Page[K, D]) -> Flow[Page[K, D] | None]:
        """The page after this one; None after the last one."""
        if page.next_link is None:
            return None
        answer = yield from self.app.exchange(Request("GET", self.app.linked(page.next_link)))
        return _page(answer)

    def refresh(self, page: Page[K, D]) -> Flow[Page[K, D]]:
        """The same page as it is now: the very same object when it has not changed."""
        headers = {} if page.etag is None else {"If-None-Match": page.etag}
        answer = yield from self.app.exchange(Request("GET", self.app.linked(page.url), headers))
        return page if answer.status_code == HTTPStatus.NOT_MODIFIED else _page(answer)

    def get_many(
        self, lookups: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> Flow[list[Page[K, D] | ProblemError]]:
        """The first page of each lookup, or its problem, in the order asked."""
        shared = json_parameters((yield from self._with_sees(options)))
        found: list[Page[K, D] | ProblemError] = []
        for first in range(0, len(lookups), LOOKUPS_MAX):
            asked: list[dict[str, Any]] = []
            for lookup in lookups[first : first + LOOKUPS_MAX]:
                asked += [json_parameters((yield from self._with_sees(lookup)))]
            request = Request("POST", self.app.address(self._path("lookups")), json={**shared, "lookups": asked})
            answers = content_of((yield from self.app.exchange(request)))["value"]
            found += [self._outcome(each, {**shared, **lookup}) for each, lookup in zip(answers, asked, strict=True)]
        return found

    def count(self, asked: Mapping[str, Any]) -> Flow[Count]:
        """How many entries a lookup would find."""
        parameters = query_parameters((yield from self._with_sees(asked)))
        content = content_of((yield from self.app.get(self._path("count"), parameters)))
        return Count(content["count"], is_exact=content["isExact"])

    def explain(self, asked: Mapping[str, Any]) -> Flow[Explanation]:
        """How a lookup would run."""
        parameters = query_parameters((yield from self._with_sees(asked)))
        return cast("Explanation", content_of((yield from self.app.get(self._path("explain"), parameters))))

    def describe(self) -> Flow[dict[str, Any]]:
        """The index as the app describes it."""
        return content_of((yield from self.app.get(self._path(""))))

    def _with_sees(self, asked: Mapping[str, Any]) -> Flow[Mapping[str, Any]]:
        """Parameters whose `sees` is text: made from an item by the identity of the source, which is asked for once."""
        item = asked.get("sees")
        if not isinstance(item, Mapping):
            return asked
        if self._identity is None:
            self._identity = cast("Mapping[str, Any]", (yield from self.describe())["identity"])
        return {**asked, "sees": seen_as(self._identity, item)}

    def _outcome(self, content: Mapping[str, Any], asked: Mapping[str, Any]) -> Page[K, D] | ProblemError:
        if "error" in content:
            return ProblemError(content["error"]["status"], content["error"])
        url = self.app.address(self._path("entries")).copy_with(params=query_parameters(asked))
        return Page[K, D].of(content, str(url))

    def _path(self, call: str) -> str:
        return f"/api/indexes/{quote(self.name, safe='')}/{call}".rstrip("/")


def content_of(answer: httpx.Response) -> dict[str, Any]:
    """The JSON of a good answer; raises `UnreachableError` for what no app answers."""
    try:
        content: dict[str, Any] = answer.json()
    except ValueError:
        what = f"{answer.request.url.host} answers something else than JSON: is that the address of the app?"
        raise UnreachableError(what) from None
    return content


def _page(answer: httpx.Response) -> Page[Any, Any]:
    return Page[Any, Any].of(content_of(answer), str(answer.request.url), answer.headers.get("ETag"))


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)
