"""Builds, as commands follow them: one line of progress on a terminal, rows for programs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from cli.errors import ServiceError
from cli.progress import Pace, clear_line, show_line
from cli.service.service import lookup_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cli.service.service import Service

COLUMNS: Final = ("index", "state", "serving", "generation", "facts", "entries", "transactions", "unbuilt", "verified")
_POLL_SECONDS: Final = 0.5


def standing(service: Service, index: str) -> dict[str, Any]:
    """How an index stands."""
    return service.get(lookup_path(index, "builds"), {})


def row(state: Mapping[str, Any]) -> dict[str, Any]:
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


class BuildProgress:
    """The line of progress of a build, from one look at it to the next."""

    def __init__(self, index: str) -> None:
        self._index = index
        self._facts: Pace | None = None
        self._slices: Pace | None = None

    def line(self, build: Mapping[str, Any], now_seconds: float) -> str:
        """What is done, how fast, and how long it still takes by slices done of all."""
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


def _followed(service: Service, index: str) -> dict[str, Any]:
    """How the index stands when its build has ended."""
    progress = BuildProgress(index) if sys.stderr.isatty() else None
    while True:
        state = standing(service, index)
        build = state["build"] or {}
        if build.get("state") != "running":
            return state
        if progress:
            show_line(progress.line(build, time.monotonic()))
        time.sleep(_POLL_SECONDS)
