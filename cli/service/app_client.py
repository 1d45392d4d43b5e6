"""The client of a running app: a local run, found by its data folder, or any app by address and key."""

from __future__ import annotations

import json
import os
import shlex
import textwrap
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from cli.arguments import exclusive, non_empty, option
from cli.errors import ServiceError, UsageError
from cli.local_run import data_option, is_address, local_run
from shared.entries.keys.fact_key import is_encodable
from shared.inputs.parameters import to_query

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cli.arguments import Arguments, Option

_KEY_VARIABLE: Final = "INDEX_TABLES_KEY"
_TOKEN_VARIABLE: Final = "INDEX_TABLES_TOKEN"
_ANSWER_SECONDS: Final = 60
_RESTART_SECONDS: Final = 20.0
_RETRY_SECONDS: Final = 0.2
_USUAL_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class AppClient:
    """Calls an app at an address, with a key or a token."""

    base: str
    key: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    # How long an app may be away: a local run starts its app again when the definitions change.
    patience_seconds: float = 0.0

    def get(self, path: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The JSON of an answer; raises `ServiceError` with the details of a problem."""
        return self.get_link(f"{self.base}{path}{_query(parameters)}")

    def get_link(self, link: str, method: str = "GET") -> dict[str, Any]:
        """The same for a whole address, such as a nextLink. The key goes to the host of `base` and to no other."""
        if _origin(link) != _origin(self.base):
            raise ServiceError(f"{self.base} has its next page on another host, {link!a}, which is not called")
        return self._send(urllib.request.Request(link, method=method))

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON of the answer to a call with a body."""
        content = json.dumps(body).encode()
        request = urllib.request.Request(f"{self.base}{path}", content, {"Content-Type": "application/json"})
        return self._send(request)

    def _send(self, request: urllib.request.Request) -> dict[str, Any]:
        if self.key:
            request.add_header("x-functions-key", self.key)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with self._open(request) as answer:
                content: dict[str, Any] = json.load(answer)
                return content
        except urllib.error.HTTPError as error:
            raise ServiceError(_problem_text(error, has_key=bool(self.key))) from None
        except (OSError, ValueError, HTTPException) as error:
            reason = str(getattr(error, "reason", error)).strip()
            raise ServiceError(f"{self.base} does not answer ({reason}): is the app running?") from None

    def _open(self, request: urllib.request.Request) -> Any:
        deadline = time.monotonic() + self.patience_seconds
        while True:
            try:
                return urllib.request.build_opener(_SameHost).open(request, timeout=_ANSWER_SECONDS)
            except urllib.error.URLError as error:
                # Refused: the app has not seen the request, so that even one that changes something may be sent again.
                if not isinstance(error.reason, ConnectionRefusedError) or time.monotonic() >= deadline:
                    raise
            time.sleep(_RETRY_SECONDS)

    def pages(self, index: str, parameters: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """The pages of a lookup, one after the other."""
        return self.all_pages(index_path(index, "entries"), parameters)

    def all_pages(self, path: str, parameters: Mapping[str, str], method: str = "GET") -> Iterator[dict[str, Any]]:
        """The pages of any call, one after the other."""
        page = self.get_link(f"{self.base}{path}{_query(parameters)}", method)
        yield page
        while "nextLink" in page:
            page = self.get_link(page["nextLink"], method)
            yield page


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follows redirects on the host that was asked: the key would go along to any other."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """The next request; raises `ServiceError` for one to another host."""
        if _origin(newurl) != _origin(req.full_url):
            raise ServiceError(f"{req.full_url} redirects to {newurl!a}: if that is the app, name it with --url")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _origin(address: str) -> tuple[str, str | None, int | None] | None:
    """Scheme, host and port; None for what is no address."""
    if not is_address(address):
        return None
    parts = urlsplit(address)
    return parts.scheme, parts.hostname, parts.port or _USUAL_PORTS[parts.scheme]


def index_path(index: str, call: str) -> str:
    """The path of a call on an index."""
    return f"/api/indexes/{path_segment(index)}/{call}"


def path_segment(name: str) -> str:
    """A name as one segment of a path."""
    check_text(name)
    return quote(name, safe="")


def _query(parameters: Mapping[str, str]) -> str:
    for text in (*parameters, *parameters.values()):
        check_text(text)
    return f"?{to_query(parameters)}" if parameters else ""


def app_options() -> tuple[Option, ...]:
    """`--data`, or `--url` with `--key`."""
    return (
        *exclusive(
            data_option(),
            option(
                "--url", type=non_empty, metavar="URL", help="the app's address, such as https://NAME.azurewebsites.net"
            ),
        ),
        option("--key", metavar="KEY", help=f"the function key (default: the environment variable {_KEY_VARIABLE})"),
        option(
            "--token",
            metavar="TOKEN",
            help=f"a token of Entra ID, for ACCESS=entra (default: the environment variable {_TOKEN_VARIABLE})",
        ),
    )


def client_for(args: Arguments, kind: str = "function") -> AppClient:
    """The client of the app that the arguments name. A local run has keys of its own: "function" and "admin"."""
    key, token = _secret(args.key, "key", _KEY_VARIABLE), _secret(args.token, "token", _TOKEN_VARIABLE)
    if args.url:
        if not is_address(args.url):
            raise UsageError(f"{args.url!a} is not an address: write one such as https://NAME.azurewebsites.net")
        return AppClient(args.url.rstrip("/").removesuffix("/api"), key, token)
    run = local_run(args.data)
    sign_in = run.sign_in()
    if sign_in is not None and token is None:
        from cli.service.tokens import LIFETIME_SECONDS, ROLES_OF, new_token

        token = new_token(sign_in, ROLES_OF[kind], {}, LIFETIME_SECONDS)
    return AppClient(run.address(), key or run.key(kind), token, _RESTART_SECONDS if run.is_alive() else 0.0)


def _secret(given: str | None, kind: str, variable: str) -> str | None:
    """A key or a token: the argument, or the variable."""
    secret = given or os.environ.get(variable)
    if secret and not (secret.isascii() and secret.isprintable()):
        where = f"--{kind}" if given else variable
        raise UsageError(f"the {kind} in {where} has characters that cannot be sent: copy it again, on one line")
    return secret


def check_text(argument: str) -> None:
    """Bytes that are not UTF-8 come from the shell as characters that cannot be sent or written."""
    if not is_encodable(argument):
        raise UsageError(f"{argument!a} is not UTF-8 text: write it in that encoding")


def _problem_text(error: urllib.error.HTTPError, *, has_key: bool) -> str:
    """The message of a problem; errors of the platform have no body."""
    content = error.read()
    if error.code == 401 and not content and has_key:
        return f"the app does not accept the key of --key or {_KEY_VARIABLE}: operations take the admin key alone"
    if error.code == 401 and not content:
        return f"the app wants a function key (for operations the admin key): give it with --key or in {_KEY_VARIABLE}"
    try:
        problem = json.loads(content)
        # The detail may already contain the faults. They are not printed twice.
        details = [fault["detail"] for fault in problem.get("errors", ())]
        faults = [detail for detail in details if detail not in problem["detail"]]
        suggested = [suggestion_text(problem["suggestion"])] if "suggestion" in problem else []
        return "\n".join(["\n  ".join([f"{problem['detail']} ({problem['code']})", *faults]), *suggested])
    except (ValueError, KeyError, TypeError):
        return f"the app answered {error.code} {error.reason}"


def suggestion_text(suggestion: Mapping[str, Any]) -> str:
    """What to ask instead, as a command; or what to put into the definitions."""
    if "index" in suggestion:
        parameters = [shlex.quote(f"{name}={value}") for name, value in suggestion["parameters"].items()]
        return "    Ask another index: " + " ".join(["index-tables query", suggestion["index"], *parameters])
    return "    An index with this definition would answer:\n" + textwrap.indent(
        suggestion["definition"].rstrip(), "      "
    )
