"""Tools for assistants over the Model Context Protocol: with the client of its authors, and with raw requests."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Literal

import pytest
import requests
from mcp import Client
from mcp.shared.exceptions import MCPError

from cli.service.tokens import new_token
from local.host.http import sign_in
from tests.functions.apps import serving, write_app
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENDPOINT = "/runtime/webhooks/mcp"
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
TOOLS = """
@app.mcp_tool_trigger(arg_name="context", tool_name="greet", description="Greets.", tool_properties=json.dumps(
    [{"propertyName": "name", "propertyType": "string", "description": "Who.", "isRequired": True}]))
def greet(context: str) -> str:
    called = json.loads(context)
    return f"Hello {called['arguments']['name']} over {called['transport']['name']}"

@app.mcp_tool_trigger(arg_name="context", tool_name="who", description="Says who calls.")
def who(context: str) -> str:
    headers = json.loads(context)["transport"]["properties"]["headers"]
    return str({name.lower(): value for name, value in headers.items()}.get("x-ms-client-principal"))

@app.mcp_tool_trigger(arg_name="context", tool_name="fail", description="Fails.")
def fail(context: str) -> str:
    raise ValueError("planted")

@app.mcp_tool_trigger(arg_name="context", tool_name="hang", description="Never ends.")
async def hang(context: str) -> str:
    import asyncio
    await asyncio.Event().wait()
"""
HOST_JSON = {"version": "2.0", "functionTimeout": "00:00:02", "extensions": {"mcp": {"serverName": "greeter"}}}


@pytest.fixture(scope="module")
def lookups_url(lookup_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The project itself, with its tools."""
    folder = tmp_path_factory.mktemp("tools")
    with serving(ROOT, {**lookup_settings, "MCP_TOOLS": "true"}, "--http-only", log_folder=folder) as app:
        yield app.url


@pytest.fixture(scope="module")
def tools_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app with tools of its own."""
    with serving(write_app(tmp_path_factory.mktemp("tools") / "app", TOOLS, HOST_JSON)) as app:
        yield app.url


def text_of(result: Any) -> Any:
    """The JSON text that a tool of the project answers with."""
    (content,) = result.content
    return json.loads(content.text)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_assistant_finds_the_tools_and_looks_things_up(
    lookups_url: str, mode: Literal["auto", "legacy"]
) -> None:
    """Whether it asks for the newest protocol first, or begins with the handshake."""
    async with Client(f"{lookups_url}{ENDPOINT}", mode=mode) as assistant:
        tools = {tool.name: tool for tool in (await assistant.list_tools()).tools}
        schema = tools["customers-by-town"].input_schema
        assert schema["properties"]["town"]["type"] == "string"
        assert schema["properties"]["maxpagesize"]["type"] == "integer"
        found = await assistant.call_tool("customers-by-town", {"town": "Redmond", "maxpagesize": 3})
        assert not found.is_error
        assert [entry["id"] for entry in text_of(found)["value"]] == ["20", "1", "2"]


async def test_a_problem_comes_back_as_an_error_with_its_words(lookups_url: str) -> None:
    """The assistant sees what is wrong and can ask again."""
    async with Client(f"{lookups_url}{ENDPOINT}") as assistant:
        problem = await assistant.call_tool("customers-by-town", {"town": "Redmond", "towm": "x"})
        assert problem.is_error
        assert text_of(problem)["code"] == "UnknownParameter"


async def test_a_failing_tool_comes_back_as_an_error_without_its_words(tools_url: str) -> None:
    """As in Azure: what an exception says is for the log."""
    async with Client(f"{tools_url}{ENDPOINT}") as assistant:
        failed: Any = await assistant.call_tool("fail", {})
        assert (failed.is_error, failed.content[0].text) == (True, "An error occurred invoking 'fail'.")
        greeting: Any = await assistant.call_tool("greet", {"name": "Ann"})
        assert (greeting.is_error, greeting.content[0].text) == (False, "Hello Ann over http-streamable")


@pytest.mark.parametrize(("name", "arguments"), [("nothing", {}), ("greet", {}), ("greet", {"name": None})])
async def test_a_call_that_fits_no_tool_is_refused(tools_url: str, name: str, arguments: dict[str, Any]) -> None:
    """An unknown tool, and a missing value: errors of the protocol, as in Azure."""
    async with Client(f"{tools_url}{ENDPOINT}") as assistant:
        with pytest.raises(MCPError) as refused:
            await assistant.call_tool(name, arguments)
        assert refused.value.code == -32602


def post(url: str, body: str, **headers: str) -> requests.Response:
    return requests.post(f"{url}{ENDPOINT}", body, headers={**ACCEPT, **headers}, timeout=20)


def test_the_handshake_to_the_letter(tools_url: str) -> None:
    """The request of an assistant, and the whole answer."""
    request = (
        '{"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
        '"clientInfo":{"name":"mcp","version":"0.1.0"}},"jsonrpc":"2.0","id":0}'
    )
    answer = post(tools_url, request)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json; charset=utf-8")
    assert answer.json() == {
        "jsonrpc": "2.0",
        "id": 0,
        "result": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "greeter", "version": "1.0.0"},
            "instructions": "",
        },
    }


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ('{"jsonrpc":"2.0","method":"notifications/initialized"}', 202, None),
        ('{"jsonrpc":"2.0","id":1,"method":"ping"}', 200, None),
        ('{"jsonrpc":"2.0","id":1,"method":"resources/list"}', 200, -32601),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["x"]}}', 200, -32602),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":[1]}}', 200, -32602),
        ('{"jsonrpc":"2.0","id":1}', 400, -32600),
        ("[]", 400, -32600),
        ("{", 400, -32700),
        ("\udcff", 400, -32700),
        ("[" * 100_000, 400, -32700),
    ],
)
def test_every_message_has_an_answer(tools_url: str, body: str, status: int, code: int | None) -> None:
    """Whatever an assistant sends."""
    answer = requests.post(f"{tools_url}{ENDPOINT}", body.encode(errors="surrogateescape"), headers=ACCEPT, timeout=20)
    assert answer.status_code == status
    assert (answer.json().get("error", {}).get("code") if answer.content else None) == code


@pytest.mark.parametrize(("method", "accept", "status"), [("GET", "text/event-stream", 405), ("POST", "*/*", 406)])
def test_there_is_no_stream_to_listen_on(tools_url: str, method: str, accept: str, status: int) -> None:
    """And both kinds of answers must be accepted, as in Azure."""
    answer = requests.request(method, f"{tools_url}{ENDPOINT}", headers={"Accept": accept}, data="{}", timeout=20)
    assert answer.status_code == status


def test_a_page_of_the_web_may_not_call_tools(tools_url: str) -> None:
    """Without keys, only programs on this machine may."""
    assert post(tools_url, "{}", Origin="https://elsewhere.example").status_code == 403


def test_tools_need_the_key_when_keys_are_checked(tmp_path: Path) -> None:
    """401 without it."""
    keys = tmp_path / "keys.json"
    with serving(write_app(tmp_path / "app", TOOLS, HOST_JSON), None, "--keys", str(keys)) as app:
        ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
        assert post(app.url, ping).status_code == 401
        admin = json.loads(keys.read_text())["admin"]
        assert post(app.url, ping, **{"x-functions-key": admin}).json()["result"] == {}


def test_a_caller_cannot_say_who_he_is(tmp_path: Path) -> None:
    """Where tokens are checked, the header that describes the caller is the host's own, also for tools. Without a token
    not even their names are told."""
    call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who"}}'
    tokens = tmp_path / "token.key"
    key = sign_in.read_or_create(tokens).key
    good = new_token((key, sign_in.AUDIENCE, sign_in.ISSUER), ["Index.Read"], {}, 60)
    brought = {"X-MS-CLIENT-PRINCIPAL": "admin"}
    with serving(write_app(tmp_path / "app", TOOLS, HOST_JSON), None, "--tokens", str(tokens)) as app:
        told = post(app.url, call, Authorization=f"Bearer {good}", **brought).json()["result"]["content"][0]["text"]
        assert "Index.Read" in base64.b64decode(told).decode()
        assert post(app.url, call, **brought).status_code == 401
        assert post(app.url, call, Authorization="Bearer nonsense").status_code == 401


def test_a_tool_over_its_time_comes_back_as_an_error(tmp_path: Path) -> None:
    """Then the worker starts again."""
    with serving(write_app(tmp_path / "app", TOOLS, HOST_JSON)) as app:
        call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}'
        result = post(app.url, call).json()["result"]
        assert result["isError"]
        assert "hang ran longer than functionTimeout" in result["content"][0]["text"]


def test_an_app_without_tools_has_no_endpoint(tmp_path: Path) -> None:
    """404, as for every unknown address."""
    function = "@app.route(route='x')\ndef x(req: func.HttpRequest) -> str:\n    return ''\n"
    with serving(write_app(tmp_path / "app", function)) as app:
        assert post(app.url, "{}").status_code == 404
