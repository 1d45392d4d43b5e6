"""The client of a running app: a local run, found by its data folder, or any app by address and key."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from cli.arguments import folder, non_empty
from cli.errors import ServiceError, UsageError
from cli.local_run import DATA_FOLDER, is_address, local_run
from shared.entries.keys.fact_key import is_encodable
from shared.inputs.parameters import to_query

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

_KEY_VARIABLE: Final = "INDEX_TABLES_KEY"
_ANSWER_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class AppClient:
    """Calls an app at an address, with a key."""

    base: str
    key: str | None = field(default=None, repr=False)

    def get(self, path: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The JSON of an answer; raises `ServiceError` with the details of a problem."""
        return self.get_link(f"{self.base}{path}{_query(parameters)}")

    def get_link(self, link: str, method: str = "GET") -> dict[str, Any]:
        """The same for a whole address, such as a nextLink."""
        return self._send(urllib.request.Request(link, method=method))

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON of the answer to a call with a body."""
        content = json.dumps(body).encode()
        request = urllib.request.Request(f"{self.base}{path}", content, {"Content-Type": "application/json"})
        return self._send(request)

    def _send(self, request: urllib.request.Request) -> dict[str, Any]:
        if self.key:
            request.add_header("x-functions-key", self.key)
        try:
            with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as answer:
                content: dict[str, Any] = json.load(answer)
                return content
        except urllib.error.HTTPError as error:
            raise ServiceError(_problem_text(error)) from None
        except (OSError, ValueError, HTTPException) as error:
            reason = str(error).strip()
            raise ServiceError(f"{self.base} does not answer ({reason}): is the app running?") from None

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


def add_app_arguments(parser: argparse.ArgumentParser) -> None:
    """`--data`, or `--url` with `--key`."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--data", type=folder, metavar="DIR", help=f"the data folder of a local run (default: {DATA_FOLDER})"
    )
    where.add_argument("--url", type=non_empty, help="the app's address, such as https://NAME.azurewebsites.net")
    parser.add_argument("--key", help=f"the function key (default: the environment variable {_KEY_VARIABLE})")


def add_lookup_arguments(parser: argparse.ArgumentParser) -> None:
    """INDEX, its parameters, and which app to call."""
    parser.add_argument("index", metavar="INDEX", type=non_empty, help="the index to look up")
    add_condition_arguments(parser)
    add_app_arguments(parser)


def add_condition_arguments(parser: argparse.ArgumentParser) -> None:
    """The parameters of a lookup. A default, because argparse would call them required without one."""
    parser.add_argument(
        "parameters", metavar="NAME=VALUE", nargs="*", default=(), help="conditions and options, as in docs/http-api.md"
    )


def client_for(args: argparse.Namespace, kind: str = "function") -> AppClient:
    """The client of the app that the arguments name. A local run has keys of its own: "function" and "admin"."""
    key = args.key or os.environ.get(_KEY_VARIABLE)
    if key and not (key.isascii() and key.isprintable()):
        where = "--key" if args.key else _KEY_VARIABLE
        raise UsageError(f"the key in {where} has characters that cannot be sent: copy it again, without line breaks")
    if args.url:
        if not is_address(args.url):
            raise UsageError(f"{args.url!a} is no address: write one such as https://NAME.azurewebsites.net")
        return AppClient(args.url.rstrip("/").removesuffix("/api"), key)
    run = local_run(args.data)
    return AppClient(run.address(), key or run.key(kind))


def read_parameters(pairs: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE arguments as parameters."""
    parameters: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{pair} is no NAME=VALUE: write for example town=Redmond")
        if name in parameters:
            raise UsageError(f"{name} is given twice: give it once")
        parameters[name] = value
    return parameters


def check_text(argument: str) -> None:
    """Bytes that are not UTF-8 come from the shell as characters that cannot be sent or written."""
    if not is_encodable(argument):
        raise UsageError(f"{argument!a} is not UTF-8 text: write it in that encoding")


def _problem_text(error: urllib.error.HTTPError) -> str:
    """The message of a problem; errors of the platform have no body."""
    if error.code == 401:
        return f"the app wants a function key (for operations the admin key): give it with --key or in {_KEY_VARIABLE}"
    try:
        problem = json.load(error)
        # The detail may already contain the faults. They are not printed twice.
        details = [fault["detail"] for fault in problem.get("errors", ())]
        faults = [detail for detail in details if detail not in problem["detail"]]
        return "\n  ".join([f"{problem['detail']} ({problem['code']})", *faults])
    except (ValueError, KeyError, TypeError):
        return f"the app answered {error.code} {error.reason}"
