"""Tools for assistants: the functions with a tool trigger, over the Model Context Protocol's streamable HTTP.

As the real extension does, a request is answered by itself: there are no sessions to keep, and no stream to listen on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import web
from multidict import CIMultiDict

from local.host.errors import FunctionTimedOutError
from local.host.messages import TypedData
from local.host.runtime import Invocation
from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from local.host.invoker import Invoker
    from local.host.runtime import Function

PATH = "/runtime/webhooks/mcp"
# Versions that begin with a handshake; a client that offers another one is offered the last of these.
_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_PARSE_ERROR, _INVALID_REQUEST, _UNKNOWN_METHOD, _INVALID_PARAMETERS = -32700, -32600, -32601, -32602
# A function says with it that its answer is a whole result, and not the text of one.
_WHOLE_RESULT = "call_tool_result"


class _RefusedError(LocalRunError):
    """A message that is answered with an error of JSON-RPC."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class ToolEndpoint:
    """Answers the messages of assistants."""

    tools: Mapping[str, Function]
    server: Mapping[str, Any]
    invoker: Invoker

    @classmethod
    def of(cls, functions: Sequence[Function], section: Mapping[str, Any], invoker: Invoker) -> ToolEndpoint:
        """The endpoint for these functions; `section` is `extensions.mcp` of host.json."""
        return cls({str(each.trigger["toolName"]): each for each in functions}, section, invoker)

    async def answer(self, method: str, headers: Mapping[str, str], body: bytes) -> web.Response:
        """The answer to one request: a message, or 202 for what wants none."""
        accepted = CIMultiDict(headers).get("Accept", "")
        if method != "POST":
            return web.Response(status=405, headers={"Allow": "POST"})
        if not all(kind in accepted for kind in ("application/json", "text/event-stream")):
            return _error(None, _INVALID_REQUEST, "Accept both application/json and text/event-stream.", status=406)
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):  # the second one for thousands of brackets
            return _error(None, _PARSE_ERROR, "The body is not JSON that can be read.", status=400)
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return _error(None, _INVALID_REQUEST, "The body is not a message of JSON-RPC.", status=400)
        if "id" not in message:
            return web.Response(status=202)
        parameters = message.get("params")
        try:
            result = await self._result(message["method"], parameters if isinstance(parameters, dict) else {}, headers)
        except _RefusedError as error:
            return _error(message["id"], error.code, str(error))
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async def _result(self, method: str, parameters: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        if method == "initialize":
            return self._introduction(parameters.get("protocolVersion"))
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": [_description(name, each.trigger) for name, each in self.tools.items()]}
        if method == "tools/call":
            return await self._call(parameters, headers)
        raise _RefusedError(_UNKNOWN_METHOD, f"The method {method!r} is not known here.")

    def _introduction(self, version: Any) -> dict[str, Any]:
        return {
            "protocolVersion": version if version in _VERSIONS else _VERSIONS[-1],
            "capabilities": {"tools": {}},
            "serverInfo": {
                "name": self.server.get("serverName", "Azure Functions MCP server"),
                "version": self.server.get("serverVersion", "1.0.0"),
            },
            "instructions": self.server.get("instructions", ""),
        }

    async def _call(self, parameters: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        name, arguments = parameters.get("name"), parameters.get("arguments") or {}
        function = self.tools.get(name) if isinstance(name, str) else None
        if function is None:
            raise _RefusedError(_INVALID_PARAMETERS, f"Unknown tool: {name!r}")
        if not isinstance(arguments, dict):
            raise _RefusedError(_INVALID_PARAMETERS, '"arguments" must be an object.')
        if missing := [each for each in _required(function.trigger) if arguments.get(each) is None]:
            raise _RefusedError(_INVALID_PARAMETERS, f"The tool {name} needs values for: {', '.join(missing)}")
        transport = {"name": "http-streamable", "properties": {"headers": dict(headers)}}
        context = {"name": name, "arguments": arguments, "transport": transport}
        try:
            outcome = await self.invoker.call(function, Invocation(TypedData(string=json.dumps(context)), {}))
        except FunctionTimedOutError as error:
            return _text(str(error), is_error=True)
        if outcome.failure is not None:
            return _text(f"An error occurred invoking {name!r}.", is_error=True)
        answered = str(outcome.returned.string) if outcome.returned is not None else ""
        return _whole(answered) if function.trigger.get("useResultSchema") else _text(answered, is_error=False)


def _description(name: str, trigger: Mapping[str, Any]) -> dict[str, Any]:
    listed = _properties(trigger)
    properties = {
        each["propertyName"]: {"type": each["propertyType"], "description": each.get("description", "")}
        for each in listed
    }
    schema = {"type": "object", "properties": properties, "required": _required(trigger)}
    return {"name": name, "description": trigger.get("description") or "", "inputSchema": schema}


def _properties(trigger: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parameters of a tool, which its binding has as JSON text."""
    found: list[dict[str, Any]] = json.loads(trigger.get("toolProperties") or "[]")
    return found


def _required(trigger: Mapping[str, Any]) -> list[str]:
    return [each["propertyName"] for each in _properties(trigger) if each.get("isRequired")]


def _text(text: str, *, is_error: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _whole(answered: str) -> Any:
    """The result that a function has put together itself: `{"type": "call_tool_result", "content": JSON text}`."""
    result = json.loads(answered)
    if result.get("type") != _WHOLE_RESULT:
        return _text(f"A result of the type {result.get('type')!r} is not read by the local host.", is_error=True)
    return json.loads(result["content"])


def _error(message_id: Any, code: int, text: str, status: int = 200) -> web.Response:
    error = {"code": code, "message": text}
    return web.json_response({"jsonrpc": "2.0", "id": message_id, "error": error}, status=status)
