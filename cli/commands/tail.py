"""`index-tables tail`: follow a lookup, printing entries as they appear, change and vanish; or a source's changes."""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cli.arguments import add_command, flag, option, positive_seconds
from cli.definitions import definitions_option, index_argument, source_option
from cli.errors import UsageError
from cli.service.app_client import app_options, client_for
from cli.service.lookup_arguments import conditions_argument, read_parameters
from cli.sources.connections import AZURE_HELP, run_to_end
from cli.sources.source_tail import follow_source
from cli.text import json_text, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import click

    from cli.arguments import Arguments

_EXAMPLES: Final = """\
  index-tables tail customers-by-town town=Redmond
  index-tables tail customers-by-town town=Redmond --every 5 --format jsonl
  index-tables tail --source orders
  index-tables tail --source orders --from-beginning --changes 10 --format jsonl
"""
_SIGNS: Final = {"appeared": "+", "changed": "~", "vanished": "-"}
_PAGE_SIZE: Final = "1000"

_Entries: TypeAlias = "dict[str, dict[str, Any]]"


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "tail",
        run,
        index_argument("the index to look up", required=False),
        conditions_argument(),
        *app_options(),
        option(
            "--every",
            metavar="SECONDS",
            type=positive_seconds,
            default="1",
            show_default=True,
            help="how often",
        ),
        option("--times", metavar="N", type=int, help="look N times, then end (default: endless)"),
        source_option("follow the changes of this source"),
        definitions_option("with --source: the definitions file"),
        flag("--azure", f"with --source: {AZURE_HELP}"),
        flag("--from-beginning", "with --source: start with the oldest change, not with the next"),
        option("--changes", metavar="N", type=int, help="with --source: end after N changes (default: endless)"),
        summary="follow a lookup, or the changes of a source",
        description="Print the entries of a lookup, then those that appear (+), change (~) and vanish (-). With "
        "--source, print the changes of a source as they pass: upserts (~), deletes (-), and what cannot be read (!). "
        "Ctrl-C ends it. Formats: table and jsonl.",
        examples=_EXAMPLES,
    )


def run(args: Arguments) -> int:
    """Look, print what is new, wait, and so on."""
    if args.format not in ("table", "jsonl"):
        raise UsageError(f"--format {args.format} has an end, tail has none: use table or jsonl")
    if any(number is not None and number < 1 for number in (args.times, args.changes)):
        raise UsageError("--times and --changes are numbers above 0")
    if bool(args.source) == bool(args.index):
        raise UsageError("name an INDEX to follow a lookup, or --source to follow changes: one of the two")
    if args.source and (args.url or args.key):
        raise UsageError("--source follows a container or a hub, not an app: leave --url and --key out")
    with contextlib.suppress(KeyboardInterrupt):
        if args.source:
            run_to_end(follow_source(args))
        else:
            _follow_lookup(args)
    return 0


def _follow_lookup(args: Arguments) -> None:
    app = client_for(args)
    parameters = {"maxpagesize": _PAGE_SIZE, **read_parameters(args.parameters)}
    before: _Entries = {}
    looks = 0
    while args.times is None or looks < args.times:
        if looks:
            time.sleep(args.every)
        looks += 1
        now = {_name(entry): entry for page in app.pages(args.index, parameters) for entry in page["value"]}
        for event, entry in differences(before, now):
            print(_line(event, entry, args.format), flush=True)
        before = now


def differences(before: _Entries, now: _Entries) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What happened between two lookups: each entry with its event."""
    for name, entry in before.items():
        if name not in now:
            yield "vanished", entry
    for name, entry in now.items():
        if name not in before:
            yield "appeared", entry
        elif _state(entry) != _state(before[name]):
            yield "changed", entry


def _state(entry: Mapping[str, Any]) -> Any:
    """What changes when an entry does; a group of a summary has no version."""
    return entry["version"] if "version" in entry else entry["data"]


def _name(entry: Mapping[str, Any]) -> str:
    """Identifies an entry: a fact may have several in one index. A group has its key."""
    return json.dumps([entry.get("id"), entry.get("partitionKey"), entry["key"]])


def _line(event: str, entry: Mapping[str, Any], output_format: str) -> str:
    if output_format == "jsonl":
        return json_text({"event": event, **entry})
    key = " ".join(f"{name}={json_text(value)}" for name, value in entry["key"].items())
    name = f"{visible(entry['id'])}  " if "id" in entry else ""
    return f"{_SIGNS[event]} {name}{key}  {json_text(entry['data'])}"
