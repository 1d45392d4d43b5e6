"""HTTP triggers: one server for all functions of the app, behaving as the real host does."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from aiohttp import web
from multidict import CIMultiDict

from local.host import payloads
from local.host.errors import FunctionTimedOutError
from local.host.http import tools
from local.host.http.cookies import cookie_text
from local.host.http.requests import escaped, host_path, joined, parameters
from local.host.http.sign_in import TokenError, describes_caller

if TYPE_CHECKING:
    from local.host.http.keys import Keys
    from local.host.http.origins import Origins
    from local.host.http.routes import RouteMatch, RouteTable
    from local.host.http.sign_in import SignIn
    from local.host.http.tools import ToolEndpoint
    from local.host.invoker import Invoker
    from local.host.messages import TypedData

MAX_BODY_BYTES = 100 * 1024 * 1024
CONSOLE = "/api/console"
# aiohttp writes these itself, for the body that it really sends.
_OWN_HEADERS = frozenset({"content-length", "transfer-encoding"})


class HttpTrigger:
    """Answers requests by calling the function whose route fits."""

    def __init__(
        self,
        routes: RouteTable,
        invoker: Invoker,
        keys: Keys | None,
        origins: Origins,
        sign_in: SignIn | None = None,
        endpoint: ToolEndpoint | None = None,
    ) -> None:
        self._routes = routes
        self._tools = endpoint
        self._invoker = invoker
        self._keys = keys
        self._sign_in = sign_in
        self._origins = origins
        self._body_seconds = math.inf
        # The connections over which a request came.
        self.served: set[object] = set()

    def application(self, body_seconds: float) -> web.Application:
        """The server with its one handler, which waits `body_seconds` for the body of a request."""
        self._body_seconds = body_seconds
        application = web.Application(client_max_size=MAX_BODY_BYTES)
        # Not `.*`: a path may hold an encoded line feed, which a dot does not match.
        application.router.add_route("*", r"/{path:[\s\S]*}", self._answer)
        return application

    async def _answer(self, request: web.Request) -> web.Response:
        self.served.add(request.protocol)
        origin = request.headers.get("Origin")
        refusal = None if self._keys or self._sign_in else self._origins.refusal(request.scheme, request.host, origin)
        if refusal is not None:
            return web.Response(status=403, text=refusal)
        if "Access-Control-Request-Method" in request.headers and self._origins.may_share(origin):
            answer = web.Response(status=204)
        else:
            answer = await self._route(request)
        answer.headers.update(self._origins.headers(request.headers))
        return answer

    async def _route(self, request: web.Request) -> web.Response:
        path = host_path(request.rel_url.raw_path)
        if self._tools is not None and path == tools.PATH:
            return await self._answer_assistant(request, self._tools)
        match = self._routes.match(request.method, path)
        if match is None:
            return self._home(request.method, path)
        headers = self._admit(request, str(match.route.function.trigger.get("authLevel", "FUNCTION")))
        if isinstance(headers, web.Response):
            return headers
        if request.content_length is None and request.can_read_body:
            # Azure's host gives the function an empty body in its place.
            return web.Response(status=411, text="Send the body with a Content-Length: Azure passes over chunks.")
        body = await self._body(request)
        return await self._call(match, request, path, headers, body) if body is not None else _late_body()

    def _home(self, method: str, path: str) -> web.Response:
        """Nothing is there; but who opens the host in a browser gets to the console of the app, if it has one.

        Azure's host has a page of its own at `/`.
        """
        is_home = path.strip("/") in ("", CONSOLE.split("/")[1]) and method == "GET"
        if is_home and self._routes.match(method, CONSOLE) is not None:
            return web.Response(status=302, headers={"Location": CONSOLE})
        return web.Response(status=404)

    async def _answer_assistant(self, request: web.Request, endpoint: ToolEndpoint) -> web.Response:
        """Azure has a key of its own for tools; here the one for administration opens them, or any good token."""
        headers = self._admit(request, "ADMIN")
        if isinstance(headers, web.Response):
            return headers
        if self._sign_in is not None and not describes_caller(headers):
            return web.Response(status=401, headers={"WWW-Authenticate": "Bearer"})
        body = await self._body(request)
        return await endpoint.answer(request.method, headers, body) if body is not None else _late_body()

    def _admit(self, request: web.Request, level: str) -> dict[str, str] | web.Response:
        """The headers for the app, with what is known of the caller; or 401."""
        if self._keys and not self._keys.admits(level, request.headers, request.query):
            return web.Response(status=401)
        try:
            headers = joined(request.headers.items())
            return headers if self._sign_in is None else self._sign_in.headers(headers)
        except TokenError:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})

    async def _body(self, request: web.Request) -> bytes | None:
        """The body, unless it takes too long to come."""
        try:
            async with asyncio.timeout(self._body_seconds):
                return await request.read()
        except TimeoutError:
            return None

    async def _call(
        self, match: RouteMatch, request: web.Request, path: str, headers: dict[str, str], body: bytes
    ) -> web.Response:
        _, mark, query = request.raw_path.partition("?")
        invocation = payloads.http(
            request.method,
            f"{request.scheme}://{request.host}{escaped(path)}{mark}{query}",
            match.values,
            parameters(query),
            headers,
            body,
        )
        try:
            outcome = await self._invoker.call(match.route.function, invocation)
        except FunctionTimedOutError:
            return web.Response(status=500)
        if outcome.failure is not None or outcome.returned is None:
            return web.Response(status=500)
        return _response(outcome.returned)


def _late_body() -> web.Response:
    answer = web.Response(status=408, text="The body did not come.")
    answer.force_close()
    return answer


def _response(returned: TypedData) -> web.Response:
    """The answer that a function returned: a whole one, or a text alone."""
    if returned.WhichOneof("data") != "http":
        return web.Response(text=str(returned.string))
    answer = returned.http
    headers = CIMultiDict({name: text for name, text in answer.headers.items() if name.lower() not in _OWN_HEADERS})
    for cookie in answer.cookies or ():
        headers.add("Set-Cookie", cookie_text(cookie))
    kind = answer.body.WhichOneof("data") if answer.body is not None else None
    content = getattr(answer.body, kind) if kind else b""
    body = content.encode() if isinstance(content, str) else content
    return web.Response(status=int(answer.status_code), headers=headers, body=body)
