"""`index-tables status`: how far behind an app is, what it did and what that costs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command, flag, option, positive_seconds, seconds_limit
from cli.errors import ServiceError, UsageError
from cli.output import noun, table_lines, tell, write_rows
from cli.service.app_client import app_options, client_for
from cli.text import json_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import click

    from cli.arguments import Arguments

_SOURCES: Final = ("source", "lag", "applied", "dropped", "dead letters", "transactions", "$ per million")
_INDEXES: Final = (
    "index",
    "state",
    "generation",
    "written",
    "removed",
    "lookups",
    "transactions",
    "$ per million entries",
    "$ per million lookups",
)
_REASONS: Final = ("letters", "source", "index", "kind", "reason of one")
_TASKS: Final = ("task", "about", "state", "slices", "done so far")
_CLEAR: Final = "\033[H\033[J"
_EXAMPLES: Final = """\
  index-tables status  # a local run
  index-tables status --watch  # look again every two seconds
  index-tables status --format json | jq '.sources[].lagSeconds'
  index-tables status --url https://NAME.azurewebsites.net --max-lag 300
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "status",
        run,
        *app_options(),
        flag("--watch", "a live view; Ctrl-C ends it"),
        option("--every", metavar="SECONDS", type=positive_seconds, default="2", show_default=True, help="how often"),
        option("--times", metavar="N", type=int, help="with --watch: look N times, then end"),
        option(
            "--max-lag",
            metavar="SECONDS",
            type=seconds_limit,
            default="300",
            show_default=True,
            help="more is a problem",
        ),
        summary="show how far behind an app is, and what it did",
        description="Show lag, counts, costs, dead letters, generations and storage of a running app. Exit 1 when a "
        "source is further behind than --max-lag, or something is not known. --format json is what /api/status "
        "answers; csv and jsonl have one row per source.",
        examples=_EXAMPLES,
    )


def run(args: Arguments) -> int:
    """Print the status once, or again and again."""
    if args.times is not None and args.times < 1:
        raise UsageError("--times is a number above 0")
    if not args.watch:
        status = client_for(args).get("/api/status", {})
        write_status(status, args.format)
        return 1 if problems(status, args.max_lag) else 0
    if args.format not in ("table", "jsonl"):
        raise UsageError(f"--format {args.format} has an end, --watch has none: use table or jsonl")
    return _watch(args)


def _watch(args: Arguments) -> int:
    """The exit code is that of the last look."""
    app = client_for(args)
    looks = code = 0
    try:
        while args.times is None or looks < args.times:
            if looks:
                time.sleep(args.every)
            looks += 1
            try:
                status = app.get("/api/status", {})
            except ServiceError as error:
                # The view goes on without the app: it is needed most while the app restarts.
                tell(f"index-tables: {error}")
                code = 1
                continue
            _draw(status, args.format)
            code = 1 if problems(status, args.max_lag) else 0
    except KeyboardInterrupt:
        return 0
    return code


def _draw(status: Mapping[str, Any], output_format: str) -> None:
    if output_format == "jsonl":
        print(json_text(status), flush=True)
        return
    if sys.stdout.isatty():
        print(_CLEAR, end="")
    write_status(status, "table")
    sys.stdout.flush()


def problems(status: Mapping[str, Any], max_lag_seconds: float) -> list[str]:
    """Sources that are too far behind, and what is not known."""
    behind = [source["name"] for source in status["sources"] if (source["lagSeconds"] or 0) > max_lag_seconds]
    return [*behind, *status["unknown"]]


def write_status(status: Mapping[str, Any], output_format: str) -> None:
    """Print it for people, or for programs."""
    if output_format == "json":
        print(json_text(status, indent=2))
    elif output_format == "table":
        print("\n".join(_view(status)))
    else:
        columns = list(status["sources"][0]) if status["sources"] else ["name"]
        write_rows(status["sources"], columns, output_format)


def _view(status: Mapping[str, Any]) -> Iterator[str]:
    yield from table_lines([_source(source) for source in status["sources"]], _SOURCES)
    yield ""
    yield from table_lines([_index(index) for index in status["indexes"]], _INDEXES)
    if tasks := status.get("tasks"):
        yield ""
        yield from table_lines([_task(task) for task in tasks], _TASKS)
    reasons = status["deadLetters"]["reasons"]
    if reasons:
        yield ""
        yield from table_lines([_reason(reason) for reason in reasons], _REASONS)
    yield ""
    for source in status["sources"]:
        yield from _warnings(source)
    yield _storage(status)
    yield from (f"not known: {text}" for text in status["unknown"])
    yield from (f"older definitions are served: {fault}" for fault in status.get("definitionFaults", ()))


def _warnings(source: Mapping[str, Any]) -> Iterator[str]:
    """What an operator has to do something about. An older app does not say it."""
    if count := source.get("clockWentBack", 0):
        yield f"{source['name']}: a clock went back; {count:,} changes were dropped although they are newer: verify"
    if count := source.get("deadLettersNotKept", 0):
        letters = noun(count, "dead letter was", "dead letters were")
        yield f"{source['name']}: {count:,} {letters} not kept, because their index had too many open"


def _source(source: Mapping[str, Any]) -> dict[str, Any]:
    values = (
        source["name"],
        duration(source["lagSeconds"]),
        source["applied"],
        source["dropped"],
        _known(source["deadLetters"]),
        source["transactions"],
        _dollars(source["dollarsPerMillionChanges"]),
    )
    return dict(zip(_SOURCES, values, strict=True))


def _index(index: Mapping[str, Any]) -> dict[str, Any]:
    sent = index["transactions"]
    values = (
        index["name"],
        index["state"],
        index["generation"] or "-",
        index["entriesWritten"],
        index["entriesRemoved"],
        index["lookups"],
        "unknown" if sent["changes"] is None else sent["changes"] + sent["lookups"],
        _dollars(index["dollarsPerMillionEntries"]),
        _dollars(index["dollarsPerMillionLookups"]),
    )
    return dict(zip(_INDEXES, values, strict=True))


def _task(task: Mapping[str, Any]) -> dict[str, Any]:
    # Of what is asked for or not, the name says it.
    about = " ".join(name if value is True else str(value) for name, value in task["about"].items() if value)
    done = ", ".join(f"{name} {count}" for name, count in task["counts"].items())
    values = (task["kind"], about, task["state"], f"{task['slicesDone']}/{task['slices']}", task["problem"] or done)
    return dict(zip(_TASKS, values, strict=True))


def _reason(reason: Mapping[str, Any]) -> dict[str, Any]:
    values = (reason["count"], reason["source"], reason["index"] or "-", reason["kind"], reason["reason"])
    return dict(zip(_REASONS, values, strict=True))


def _storage(status: Mapping[str, Any]) -> str:
    storage = status["storage"]
    breaker = storage["breaker"]
    parts = [f"storage {'answers' if storage['isReachable'] else 'does not answer'}, breaker {breaker['state']}"]
    if breaker["openForSeconds"] is not None:
        parts.append(f"for {duration(breaker['openForSeconds'])}")
    if breaker["lastOutageSeconds"] is not None:
        parts.append(f"last outage {duration(breaker['lastOutageSeconds'])}")
    return f"{', '.join(parts)} · {status['at']}"


def duration(seconds: float | None) -> str:
    """Seconds as people say them."""
    if seconds is None:
        return "unknown"
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _known(value: int | None) -> int | str:
    return "unknown" if value is None else value


def _dollars(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
