"""An index as a tool for assistants: what it is called with, and what it answers, as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shared.errors import BadLookupError
from shared.inputs.faults import fault
from shared.lookup.conditions import as_parameters
from shared.web.answers import answer_or_problem, json_answer
from shared.web.openapi.parameters import lookup_parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.definitions.model import Index, Source
    from shared.lookup.lookups import Lookups
    from shared.web.answers import HttpAnswer


def description(index: Index) -> str:
    """What the tool does, in one sentence for an assistant."""
    partition = ", ".join(part.name for part in index.partition)
    sort = ", ".join(part.name for part in index.sort)
    ordered = f" They come in the order of {sort}, on which ranges are possible." if sort else ""
    return f"Finds {index.source} by {partition}.{ordered} A `token` in the answer asks for the next page."


def properties(index: Index, source: Source) -> list[dict[str, Any]]:
    """The parameters of the tool, in the form of the Functions binding: those of a lookup but for `sees`."""
    return [
        {
            "propertyName": parameter["name"],
            "propertyType": _kind(parameter["schema"]),
            "description": parameter["description"],
            "isRequired": parameter["required"],
        }
        for parameter in lookup_parameters(index, source, is_explain=False)
        if parameter["name"] != "sees"
    ]


def _kind(schema: dict[str, Any]) -> str:
    """The type of a parameter; a list is text with commas, as in an address."""
    kind = str(schema.get("type", "string"))
    return "string" if kind == "array" else kind


async def answer_tool_call(lookups: Callable[[], Lookups], index: str, context: str) -> str:
    """The answer to a call of a tool: a page as JSON text, or a problem."""

    async def work() -> HttpAnswer:
        page = await lookups().find(index, _arguments(context))
        content: dict[str, Any] = {"value": page.entries}
        if page.next_parameters is not None:
            content["token"] = page.next_parameters["token"]
        return json_answer(content)

    return (await answer_or_problem(work())).body.decode()


def _arguments(context: str) -> dict[str, str]:
    """The arguments of a call as parameters of a lookup. Assistants send null for what they leave out."""
    called = json.loads(context)
    arguments = called.get("arguments") if isinstance(called, dict) else None
    if not isinstance(arguments, dict):
        raise BadLookupError(
            fault("InvalidParameterValue", "arguments", "The call has no `arguments`; send an object.")
        )
    given = {name: value for name, value in arguments.items() if value is not None}
    for name, value in given.items():
        if not isinstance(value, (str, int, float)):
            raise BadLookupError(fault("InvalidParameterValue", name, f"{name} is no single value; send one."))
    return as_parameters(given)
