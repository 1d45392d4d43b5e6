"""Each index as a tool for assistants (Model Context Protocol), when the setting MCP_TOOLS is true."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import azure.functions as func

from shared.app.app import app
from shared.app.settings import MCP_TOOLS

if TYPE_CHECKING:
    from shared.definitions.model import Index, Source


def lookup_tools() -> func.Blueprint:
    """The tools of the app; none when they are off, or when the definitions have faults."""
    blueprint = func.Blueprint()  # type: ignore[no-untyped-call]  # the SDK leaves it unannotated
    if app().settings.value(MCP_TOOLS):
        loaded = app().definitions
        for index in () if loaded.faults else loaded.definitions.indexes.values():
            _add_tool(blueprint, index, loaded.definitions.sources[index.source])
    return blueprint


def _add_tool(blueprint: func.Blueprint, index: Index, source: Source) -> None:
    from shared.web import assistant_tools as tools  # an app without tools does not need it

    async def look_up(context: str) -> str:
        return await tools.answer_tool_call(lambda: app().lookup.lookups, app().rights, index.name, context)

    named = blueprint.function_name(_function_name(index.name))
    trigger = blueprint.mcp_tool_trigger(
        arg_name="context",
        tool_name=index.name,
        description=tools.description(index),
        tool_properties=json.dumps(tools.properties(index, source)),
        useResultSchema=True,  # the answer is a whole result, which can say that it is a problem
    )
    named(trigger(look_up))


def _function_name(index: str) -> str:
    """The function name of the tool of an index; no two indexes share one.

    Dashes become underscores, after `tool_`. A name that already has underscores stays as it is, after `tool-`.
    """
    return f"tool-{index}" if "_" in index else f"tool_{index.replace('-', '_')}"
