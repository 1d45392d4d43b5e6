"""What a lookup asks for, as arguments of a command: NAME=VALUE, and lists of values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cli.arguments import non_empty
from cli.errors import UsageError
from cli.service.app_client import add_app_arguments, path_segment

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from cli.service.app_client import AppClient


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


def add_values_argument(parser: argparse.ArgumentParser) -> None:
    """`--in`: several values of a part."""
    parser.add_argument(
        "--in",
        dest="values",
        metavar="PART=VALUE,VALUE",
        action="append",
        default=[],
        help='one of several values of a key part; a JSON array where a value has a comma: \'town=["A, B","C"]\'',
    )


def asked_parameters(client: AppClient, args: argparse.Namespace) -> dict[str, str]:
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
            raise UsageError(f"{text} is no JSON array: write for example town=Redmond,Kirkland") from None
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
            raise UsageError(f"{pair} is no NAME=VALUE: write for example town=Redmond")
        if name in parameters:
            raise UsageError(f"{name} is given twice: give it once")
        parameters[name] = value
    return parameters
