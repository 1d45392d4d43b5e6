"""What a lookup asks for, as arguments of a command: NAME=VALUE, and lists of values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cli.arguments import argument, option
from cli.definitions import index_argument
from cli.errors import UsageError
from cli.service.app_client import app_options, path_segment

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

    from cli.arguments import Arguments, Option
    from cli.service.app_client import AppClient


def lookup_parameters() -> tuple[click.Parameter, ...]:
    """INDEX, its conditions, and which app to call."""
    return (index_argument("the index to look up"), conditions_argument(), _values_option(), *app_options())


def conditions_argument() -> click.Argument:
    """The parameters of a lookup."""
    return argument("parameters", "conditions and options, as in docs/http-api.md", "NAME=VALUE", nargs=-1)


def _values_option() -> Option:
    """`--in`: several values of a part."""
    return option(
        "--in",
        "values",
        metavar="PART=VALUE,VALUE",
        multiple=True,
        help='one of several values of a key part; a JSON array where a value has a comma: \'town=["A, B","C"]\'',
    )


def asked_parameters(client: AppClient, args: Arguments) -> dict[str, str]:
    """All parameters of a lookup, those of `--in` among them, with values of the types that the index has."""
    parameters = read_parameters(args.parameters)
    if args.values:
        described = client.get(f"/api/indexes/{path_segment(args.index)}", {})
        types = {part["name"]: part["type"] for part in described["partition"] + described["sort"]}
        for name, text in read_parameters(args.values).items():
            parameters[f"{name}.in"] = json.dumps(_values(text, types.get(name, "string")), ensure_ascii=False)
    return parameters


def _values(text: str, part_type: str) -> Any:
    """The values of a list; the app says what is wrong with one that is none of its part's type."""
    if text.startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            raise UsageError(f"{text} is not a JSON array: write for example town=Redmond,Kirkland") from None
    is_text = part_type in ("string", "datetime")
    return [value if is_text else _scalar(value) for value in text.split(",")]


def _scalar(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_parameters(pairs: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE arguments as parameters."""
    parameters: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{pair} is not NAME=VALUE: write for example town=Redmond")
        if name in parameters:
            raise UsageError(f"{name} is given twice: give it once")
        parameters[name] = value
    return parameters
