"""The state of an index, and following its build: a line of progress on a terminal, rows for programs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from cli.errors import ServiceError
from cli.progress import Pace, clear_line, show_line
from cli.service.app_client import index_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cli.service.app_client import AppClient

STATE_COLUMNS: Final = (
    "index",
    "state",
    "serving",
    "generation",
    "facts",
    "entries",
    "transactions",
    "unbuilt",
    "verified",
)
_POLL_SECONDS: Final = 0.5


def index_state(app: AppClient, index: str) -> dict[str, Any]:
    """Its generations and its build."""
    return app.get(index_path(index, "builds"), {})


def state_row(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an index as one row."""
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


def start_build(app: AppClient, index: str, budget: float | None) -> dict[str, Any]:
    """Start a build; the state of the index."""
    return app.post(index_path(index, "builds"), with_budget({}, budget))


def with_budget(body: dict[str, Any], budget: float | None) -> dict[str, Any]:
    """The body of a call that starts long work, with `--budget` if it is given."""
    return body if budget is None else {**body, "budget": budget}


def wait_until_built(app: AppClient, index: str) -> dict[str, Any]:
    """Follow a build to its end; raises `ServiceError` when it fails."""
    try:
        state = _follow(app, index)
    except KeyboardInterrupt:
        follow = f'"index-tables build {index} --status" shows how far it is'
        raise KeyboardInterrupt(f"the build of {index} goes on in the app: {follow}") from None
    finally:
        clear_line()
    build = state["build"] or {}
    if build.get("state") == "failed":
        raise ServiceError(f"the build of {index} has failed: {build['problem']}")
    return state


class BuildProgress:
    """The line of progress of a build."""

    def __init__(self, index: str) -> None:
        self._index = index
        self._facts: Pace | None = None
        self._slices: Pace | None = None

    def line(self, build: Mapping[str, Any], now_seconds: float) -> str:
        """What is done, how fast, and the remaining time by the share of slices done."""
        counts, done, slices = build["counts"], build["slicesDone"], build["slices"]
        if not counts:
            when = build["notBefore"]
            return f"{self._index}: every worker writes to the new generation from {when} on; it is built then"
        facts = counts.get("facts", 0)
        # Only from now on: before its moment a build waits.
        self._facts = self._facts or Pace(facts, now_seconds)
        self._slices = self._slices or Pace(done, now_seconds)
        words = (
            f"{self._index}: {facts:,} facts",
            f"{self._facts.rate(facts, now_seconds):,.0f}/s",
            f"{counts.get('transactions', 0):,} transactions",
            f"{done} of {slices} slices ({done / max(slices, 1):.0%})",
            self._slices.left(done, slices, now_seconds),
        )
        return "  ".join(filter(None, words))


def _follow(app: AppClient, index: str) -> dict[str, Any]:
    """The state of the index when its build has ended."""
    progress = BuildProgress(index) if sys.stderr.isatty() else None
    while True:
        state = index_state(app, index)
        build = state["build"] or {}
        if build.get("state") != "running":
            return state
        if progress:
            show_line(progress.line(build, time.monotonic()))
        time.sleep(_POLL_SECONDS)
