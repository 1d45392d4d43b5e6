"""HTTP triggers: one server for all functions of the app, behaving as the real host does."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from aiohttp import web

from local.host import payloads
from local.host.errors import FunctionTimedOutError
from local.host.http.routes import RouteMatch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from multidict import MultiMapping

    from local.host.http.keys import Keys
    from local.host.http.routes import RouteTable
    from local.host.invoker import Invoker
    from local.host.messages import TypedData

MAX_BODY_BYTES = 100 * 1024 * 1024
# aiohttp writes these itself, for the body that it really sends.
_OWN_HEADERS = frozenset({"content-length", "transfer-encoding"})


class HttpTrigger:
    """Answers requests by calling the function whose route fits."""

    def __init__(self, routes: RouteTable, invoker: Invoker, keys: Keys | None) -> None:
        self._routes = routes
        self._invoker = invoker
        self._keys = keys

    def application(self) -> web.Application:
        """The server with its one handler."""
        application = web.Application(client_max_size=MAX_BODY_BYTES)
        # Not `.*`: a path may hold an encoded line feed, which a dot does not match.
        application.router.add_route("*", r"/{path:[\s\S]*}", self._answer)
        return application

    async def _answer(self, request: web.Request) -> web.Response:
        match = self._routes.match(request.method, request.rel_url.raw_path)
        if not isinstance(match, RouteMatch):
            if not match:
                return web.Response(status=404)
            return web.Response(status=405, headers={"Allow": ", ".join(sorted(match))})
        level = str(match.route.function.trigger.get("authLevel", "FUNCTION"))
        if self._keys and not self._keys.admits(level, request.headers, request.query):
            return web.Response(status=401)
        return await self._call(match, request)

    async def _call(self, match: RouteMatch, request: web.Request) -> web.Response:
        invocation = payloads.http(
            request.method,
            display_url(request),
            match.values,
            host_query(request.query),
            request.headers,
            await request.read(),
        )
        try:
            outcome = await self._invoker.call(match.route.function, invocation)
        except FunctionTimedOutError:
            return web.Response(status=500)
        if outcome.failure is not None or outcome.returned is None:
            return web.Response(status=500)
        return _response(outcome.returned)


def display_url(request: web.Request) -> str:
    """The URL as functions see it: the path unescaped, the query string exactly as it was sent."""
    target = request.raw_path
    path, mark, query = target.partition("?")
    return f"{request.scheme}://{request.host}{unquote(path)}{mark}{query}"


def host_query(query: MultiMapping[str]) -> Mapping[str, str]:
    """`req.params` as the host fills it: empty values are dropped, repeated ones joined with commas."""
    joined: dict[str, str] = {}
    for name, value in query.items():
        if value:
            joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _response(returned: TypedData) -> web.Response:
    answer = returned.http
    headers = {name: text for name, text in answer.headers.items() if name.lower() not in _OWN_HEADERS}
    kind = answer.body.WhichOneof("data") if answer.body is not None else None
    content = getattr(answer.body, kind) if kind else b""
    body = content.encode() if isinstance(content, str) else content
    return web.Response(status=int(answer.status_code), headers=headers, body=body)
