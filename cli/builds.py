"""Builds, as commands follow them: one line of progress on a terminal, rows for programs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from cli.errors import ServiceError
from cli.service import lookup_path

if TYPE_CHECKING:
    from cli.service import Service

COLUMNS: Final = ("index", "state", "serving", "generation", "facts", "entries", "transactions", "unbuilt", "verified")
_POLL_SECONDS: Final = 0.5


def standing(service: Service, index: str) -> dict[str, Any]:
    """How an index stands."""
    return service.get(lookup_path(index, "builds"), {})


def row(state: dict[str, Any]) -> dict[str, Any]:
    """How an index stands, as one row."""
    defined = state["defined"] or {}
    counts = (state["build"] or {}).get("counts", {})
    verified = defined.get("verified")
    return {
        "index": state["index"],
        "state": defined.get("state"),
        "serving": (state["serving"] or {}).get("id"),
        "generation": defined.get("id"),
        "facts": counts.get("facts"),
        "entries": counts.get("entries"),
        "transactions": counts.get("transactions"),
        "unbuilt": defined.get("unbuilt"),
        "verified": None if verified is None else f"{verified['differences']} differences",
    }


def wait_until_built(service: Service, index: str) -> dict[str, Any]:
    """Follow a build to its end; raises `ServiceError` when it fails."""
    try:
        state = _followed(service, index)
    except KeyboardInterrupt:
        follow = f"`index-tables build {index} --status` shows how far it is"
        raise KeyboardInterrupt(f"the build of {index} goes on in the app: {follow}") from None
    finally:
        clear_line()
    build = state["build"] or {}
    if build.get("state") == "failed":
        raise ServiceError(f"the build of {index} has failed: {build['problem']}")
    return state


def clear_line() -> None:
    """Take a line of progress away, if there can be one."""
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _followed(service: Service, index: str) -> dict[str, Any]:
    """How the index stands when its build has ended."""
    shows, started = sys.stderr.isatty(), time.monotonic()
    first: int | None = None
    while True:
        state = standing(service, index)
        build = state["build"] or {}
        if build.get("state") != "running":
            return state
        facts = build["counts"].get("facts", 0)
        first = facts if first is None else first
        if shows:
            rate = (facts - first) / max(time.monotonic() - started, 0.001)
            print(f"\r\033[K{_line(index, build, rate)}", end="", file=sys.stderr, flush=True)
        time.sleep(_POLL_SECONDS)


def _line(index: str, build: dict[str, Any], rate: float) -> str:
    counts = build["counts"]
    if not counts:
        return f"{index}: every worker writes to the new generation from {build['notBefore']} on; it is built then"
    share = build["slicesDone"] / max(build["slices"], 1)
    transactions = counts.get("transactions", 0)
    return (
        f"{index}: {counts.get('facts', 0):,} facts  {rate:,.0f}/s  {transactions:,} transactions  "
        f"{build['slicesDone']} of {build['slices']} slices ({share:.0%})"
    )
