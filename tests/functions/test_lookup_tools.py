"""Each index as a tool for assistants, seen through the production runtime: its metadata, and a call."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.functions.test_access import described
from tests.support import ROOT
from tests.worlds.lookup_facts import YAML

if TYPE_CHECKING:
    from pathlib import Path

# Loads the app as the worker in Azure does, in a process of its own, and calls one tool.
PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from local.host import messages
from local.host.runtime import Invocation, Runtime

async def main():
    runtime = await Runtime.load(Path.cwd())
    tools = [each for each in runtime.functions if each.trigger_type == "mcpToolTrigger"]
    answers = []
    for text in sys.argv[1:]:
        outcome = await runtime.call(tools[0], Invocation(messages.TypedData(string=text), {}))
        answers.append(outcome.failure or outcome.returned.string)
    names = [each.name for each in tools]
    print("RESULT" + json.dumps({"tools": [each.trigger for each in tools], "names": names, "answers": answers}))

asyncio.run(main())
"""


def through_the_runtime(settings: dict[str, str], *calls: str) -> dict[str, Any]:
    """The tools of the app, and the answers of the first one to these calls."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *calls],
        cwd=ROOT,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT")), None)
    assert line is not None, done.stderr
    found: dict[str, Any] = json.loads(line.removeprefix("RESULT"))
    return found


def arguments(**values: Any) -> str:
    """A call as the host sends it."""
    return json.dumps({"name": "customers-by-town", "arguments": values})


def read(answer: str) -> tuple[bool, Any]:
    """Whether an answer is an error, and what its text says: a whole result, as the extension takes it over."""
    whole = json.loads(answer)
    assert whole["type"] == "call_tool_result"
    result = json.loads(whole["content"])
    assert [each["type"] for each in result["content"]] == ["text"]
    return result["isError"], json.loads(result["content"][0]["text"])


def test_each_index_is_a_tool_with_typed_parameters(lookup_settings: dict[str, str]) -> None:
    """Name, description and parameters come from the definition."""
    tools = through_the_runtime({**lookup_settings, "MCP_TOOLS": "true"})["tools"]
    assert [tool["toolName"] for tool in tools] == [
        "customers-by-town",
        "customers-by-name",
        "customers-by-age",
        "orders-newest-first",
    ]
    assert tools[0]["description"].startswith("Finds customers by town.")
    assert tools[0]["useResultSchema"] is True
    by_name = {each["propertyName"]: each for each in json.loads(tools[2]["toolProperties"])}
    assert by_name["isVip"]["isRequired"] is False, "isVip.in may stand in its place"
    assert by_name["isVip.in"]["propertyType"] == "string"
    assert (by_name["age.ge"]["propertyType"], by_name["age.ge"]["isRequired"]) == ("integer", False)
    assert "isVip.ge" not in by_name


def test_names_that_differ_in_a_dash_only_are_tools_of_their_own(
    lookup_settings: dict[str, str], tmp_path: Path
) -> None:
    """Functions are called after indexes, and no two functions of an app may have one name."""
    names = ("by-town", "by_town", "by-old_town", "by_old-town", "by-old-town")
    indexes = "".join(f"  {name}: {{source: customers, partition: town, sort: s{n}}}\n" for n, name in enumerate(names))
    head = "version: 1\nsources: {customers: {cosmos: {database: d, container: c}}}\nindexes:\n"
    (tmp_path / "indexes.yaml").write_text(head + indexes)
    settings = {**lookup_settings, "MCP_TOOLS": "true", "INDEX_DEFINITIONS": str(tmp_path / "indexes.yaml")}
    found = through_the_runtime(settings)
    assert [tool["toolName"] for tool in found["tools"]] == list(names)
    assert all(re.fullmatch("[A-Za-z][A-Za-z0-9_-]{0,127}", name) for name in found["names"])


def test_a_tool_answers_with_entries_and_goes_on_with_a_token(lookup_settings: dict[str, str]) -> None:
    """As JSON text; a null is an argument left out; a problem is an answer, too, marked as an error."""
    settings = {**lookup_settings, "MCP_TOOLS": "true"}
    first = arguments(town="Redmond", lastName=None, maxpagesize=3)
    page, problem, nothing = through_the_runtime(settings, first, arguments(towm="x"), "[]")["answers"]
    is_error, found = read(page)
    assert (is_error, [entry["id"] for entry in found["value"]]) == (False, ["20", "1", "2"])
    assert [read(each)[0] for each in (problem, nothing)] == [True, True]
    assert read(problem)[1]["code"] == "UnknownParameter"
    assert read(nothing)[1]["code"] == "InvalidParameterValue"
    further = arguments(town="Redmond", maxpagesize=3, token=found["token"])
    listed = arguments(**{"town.in": ["Oslo", "Redmond"], "filter": "key.lastName != 'Smith'"})
    rest, several = through_the_runtime(settings, further, listed)["answers"]
    assert [entry["id"] for entry in read(rest)[1]["value"]] == ["3", "4", "5"]
    assert [entry["id"] for entry in read(several)[1]["value"]] == ["20"]


def test_a_tool_answers_several_lookups_at_once(lookup_settings: dict[str, str]) -> None:
    """Each with its page or its problem; as a list or as its text."""
    settings = {**lookup_settings, "MCP_TOOLS": "true"}
    asked = [{"town": "Redmond", "lastName": "Jones"}, {"town": ""}, {"towm": "x"}]
    several = [arguments(lookups=asked, select="phone"), arguments(lookups=json.dumps(asked), select="phone")]
    answers = through_the_runtime(settings, *several, arguments(lookups="x"))["answers"]
    for answer in answers[:2]:
        is_error, found = read(answer)
        first, second, third = found["value"]
        assert not is_error
        assert [entry["id"] for entry in first["value"] + second["value"]] == ["20", "22"]
        assert third["error"]["code"] == "UnknownParameter"
    assert read(answers[2])[1]["code"] == "InvalidParameterValue"


def test_a_count_of_several_lookups_at_once_is_refused(lookup_settings: dict[str, str]) -> None:
    """A page in the place of a count would be a wrong answer."""
    settings = {**lookup_settings, "MCP_TOOLS": "true"}
    several = arguments(lookups=[{"town": "Redmond"}], onlyCount=True)
    refused, pages = through_the_runtime(settings, several, several.replace("true", "false"))["answers"]
    is_error, problem = read(refused)
    assert (is_error, problem["code"]) == (True, "InvalidParameterValue")
    assert "onlyCount" in problem["detail"]
    assert read(pages)[0] is False


def test_a_tool_keeps_to_the_limits_of_addresses_and_bodies(lookup_settings: dict[str, str]) -> None:
    """What is long costs time and memory, whatever way it comes."""
    settings = {**lookup_settings, "MCP_TOOLS": "true"}
    long = f"[{'a,' * 3000}a]"
    calls = [
        arguments(town="x", filter=long),
        arguments(lookups=[{"town": "x"}], filter=long),
        arguments(lookups=[{"town": "x", "filter": long}]),
        arguments(**{f"p{number}": 1 for number in range(41)}),
    ]
    alone, common, in_one, many = (read(each)[1] for each in through_the_runtime(settings, *calls)["answers"])
    assert [alone["code"], common["code"]] == ["ParameterTooLong", "ParameterTooLong"]
    assert in_one["value"][0]["error"]["code"] == "ParameterTooLong"
    assert many["code"] == "TooManyParameters"


def by(claims: dict[str, Any], **values: Any) -> str:
    """A call of a caller with these claims, as the extension hands it over with the headers of the request."""
    headers = {"X-MS-CLIENT-PRINCIPAL": described({"tid": "contoso", **claims})} if claims else {}
    transport = {"name": "http-streamable", "properties": {"headers": headers}}
    return json.dumps({"name": "customers-by-town", "arguments": values, "transport": transport})


def test_a_tool_answers_within_the_rights_of_its_caller(lookup_settings: dict[str, str], tmp_path: Path) -> None:
    """A bound part is filled in, and nothing else can be asked for; not with another caller's page token either."""
    bound = YAML.replace("    partition: town\n", "    partition: town\n    access: {readers: [R], bind: {town: at}}\n")
    (tmp_path / "indexes.yaml").write_text(bound)
    settings = {**lookup_settings, "MCP_TOOLS": "true", "ACCESS": "entra", "ACCESS_TENANTS": "contoso"}
    settings["INDEX_DEFINITIONS"] = str(tmp_path / "indexes.yaml")
    mine, other = {"roles": "R", "at": "Redmond"}, {"roles": "R", "at": "O'Hare' or PartitionKey ne '"}
    calls = {
        "NotSignedIn": [by({}), by({**mine, "tid": "evil"})],
        "Forbidden": [
            by({"roles": "Index.Read", "at": "Redmond"}),
            by({"roles": "R"}),
            by(mine, town="Oslo"),
            by(mine, town="Oslo", onlyCount=True),
            by(mine, **{"town.in": ["Redmond", "Oslo"]}),
        ],
    }
    answered = through_the_runtime(
        settings,
        *(call for group in calls.values() for call in group),
        by(mine, maxpagesize=1),
        by(mine, onlyCount=True),
        by(mine, lookups=[{"lastName": "Jones"}, {"town": "Oslo"}]),
        by(other),
    )["answers"]
    *refused, page, count, several, of_other = (read(each)[1] for each in answered)
    assert [each["code"] for each in refused] == [code for code, group in calls.items() for _ in group]
    assert {entry["key"]["town"] for entry in page["value"]} == {"Redmond"}
    assert count == {"count": 8, "isExact": True}
    jones, oslo = several["value"]
    assert [entry["id"] for entry in jones["value"]] == ["20"]
    assert oslo["error"]["code"] == "Forbidden"
    assert [entry["id"] for entry in of_other["value"]] == ["23"]
    (stolen,) = through_the_runtime(settings, by(other, token=page["token"], maxpagesize=1))["answers"]
    assert read(stolen)[1]["code"] == "InvalidToken"


def test_tools_are_off_by_default(lookup_settings: dict[str, str]) -> None:
    """The setting MCP_TOOLS turns them on."""
    assert through_the_runtime(lookup_settings)["tools"] == []
