"""Follows a verification in the app: a line of progress on a terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from cli.errors import ServiceError
from cli.progress import Pace, clear_line, show_line
from cli.service.app_client import index_path
from cli.service.builds import index_state

if TYPE_CHECKING:
    from cli.service.app_client import AppClient

_POLL_SECONDS: Final = 0.5


class VerificationProgress:
    """The line of progress of a verification."""

    def __init__(self, expected_rows: int | None) -> None:
        self._expected = expected_rows
        self._pace: Pace | None = None
        self._rows = 0

    def line(self, found: dict[str, Any], now_seconds: float) -> str:
        """What was read, how fast, and the remaining time if it is known."""
        rows = _rows(found)
        # Fewer than before: something differs, and everything is read once more.
        if self._pace is None or rows < self._rows:
            self._pace = Pace(rows, now_seconds)
        self._rows = rows
        words = (
            f"{found['index']}: {found['facts']:,} facts",
            f"{found['ledgerRows']:,} ledger rows",
            f"{found['rows']:,} rows",
            f"{self._pace.rate(rows, now_seconds):,.0f}/s",
            f"{found['examined']:,} looked at",
            f"{found['total']:,} differences",
            self._left(found, self._pace, now_seconds),
        )
        return "  ".join(filter(None, words))

    def _left(self, found: dict[str, Any], pace: Pace, now_seconds: float) -> str:
        if found["sample"] is not None:
            return pace.left(found["examined"], found["sample"], now_seconds)
        return "" if self._expected is None else pace.left(self._rows, self._expected, now_seconds)


def wait_until_verified(app: AppClient, index: str, identity: str) -> dict[str, Any]:
    """Follow a verification to its end; raises `ServiceError` when it fails."""
    try:
        found = _follow(app, index, identity)
    except KeyboardInterrupt:
        follow = '"index-tables status" shows how far it is'
        raise KeyboardInterrupt(f"the verification of {index} goes on in the app: {follow}") from None
    finally:
        clear_line()
    if found["state"] == "failed":
        raise ServiceError(f"the verification of {index} has failed: {found['problem']}")
    return found


def _follow(app: AppClient, index: str, identity: str) -> dict[str, Any]:
    """The result of a verification when it has ended."""
    path = index_path(index, f"verifications/{identity}")
    progress = VerificationProgress(_expected_rows(app, index)) if sys.stderr.isatty() else None
    while True:
        found = app.get(path, {})
        if found["state"] != "running":
            return found
        if progress:
            show_line(progress.line(found, time.monotonic()))
        time.sleep(_POLL_SECONDS)


def _expected_rows(app: AppClient, index: str) -> int | None:
    """How much there is to read, if that is known: what the last verification read, or what the build wrote."""
    for verification in app.get(index_path(index, "verifications"), {})["value"]:
        if verification["state"] == "done" and verification["sample"] is None:
            return _rows(verification)
    counts = (index_state(app, index)["build"] or {}).get("counts", {})
    # Every fact, its ledger row, and its entries.
    return 2 * counts["facts"] + counts.get("entries", 0) if "facts" in counts else None


def _rows(found: dict[str, Any]) -> int:
    """All that a verification has read so far."""
    rows: int = found["facts"] + found["ledgerRows"] + found["rows"]
    return rows
