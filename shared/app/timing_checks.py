"""Checks the times that the write protocol depends on, before anything is written.

A tombstone may be removed only when no request of an earlier claim can land any more. So functions must end
(`functionTimeout`), and the sweep delay must be longer than these together: the run of a function, its lease after
that, and the retries of its last request.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from shared.app.settings import (
    BUILD_DELAY_SECONDS,
    CATALOG_REFRESH_SECONDS,
    FUNCTION_TIMEOUT,
    HOST_ENVIRONMENT,
    SWEEP_DELAY_SECONDS,
)
from shared.errors import SettingError
from shared.tables.retry import RetryPolicy

if TYPE_CHECKING:
    from pathlib import Path

    from shared.app.settings import Settings

# A lease of the Cosmos DB trigger expires after this, and another worker takes over.
LEASE_EXPIRY_SECONDS: Final = 60
# A limit of the queue service: the longest visibility delay of a message.
QUEUE_DELAY_SECONDS_MAX: Final = 7 * 86_400
_TIME_SPAN: Final = re.compile(r"(?:(\d+)\.)?(\d{1,2}):(\d{1,2}):(\d{1,2}(?:\.\d+)?)")


def check_timing(app_folder: Path, settings: Settings) -> None:
    """Raise `SettingError` when functions may run for ever, or when a sweep or a build may start too early."""
    timeout_seconds = _function_timeout_seconds(app_folder, settings)
    latest_seconds = timeout_seconds + LEASE_EXPIRY_SECONDS + RetryPolicy().budget_seconds
    delay_seconds = settings.value(SWEEP_DELAY_SECONDS)
    if delay_seconds <= latest_seconds and not _is_development(settings):
        raise SettingError(
            f"{SWEEP_DELAY_SECONDS.name} is {delay_seconds}, but a request may be {latest_seconds:g} s late "
            f"(functionTimeout {timeout_seconds:g} s, a lease {LEASE_EXPIRY_SECONDS} s, retries "
            f"{RetryPolicy().budget_seconds:g} s): make it longer, or functionTimeout shorter."
        )
    if delay_seconds > QUEUE_DELAY_SECONDS_MAX:
        raise SettingError(
            f"{SWEEP_DELAY_SECONDS.name} is {delay_seconds}, but a queue keeps a message back for "
            f"{QUEUE_DELAY_SECONDS_MAX} s at most: make it shorter."
        )
    if not _is_development(settings):
        _check_build_delay(timeout_seconds, settings)


def _check_build_delay(timeout_seconds: float, settings: Settings) -> None:
    """A build may start, and a table be dropped, when no batch is running that began with an older catalog."""
    refresh_seconds = settings.value(CATALOG_REFRESH_SECONDS)
    behind_seconds = timeout_seconds + refresh_seconds + RetryPolicy().budget_seconds
    delay_seconds = settings.value(BUILD_DELAY_SECONDS)
    if delay_seconds <= behind_seconds:
        raise SettingError(
            f"{BUILD_DELAY_SECONDS.name} is {delay_seconds}, but a batch may be {behind_seconds:g} s behind "
            f"with the catalog (functionTimeout {timeout_seconds:g} s, {CATALOG_REFRESH_SECONDS.name} "
            f"{refresh_seconds:g} s, retries {RetryPolicy().budget_seconds:g} s): make it longer."
        )


def _is_development(settings: Settings) -> bool:
    """On a developer's machine a sweep must not take an hour."""
    return settings.value(HOST_ENVIRONMENT) == "Development"


def _function_timeout_seconds(app_folder: Path, settings: Settings) -> float:
    text = settings.value(FUNCTION_TIMEOUT) or _host_json(app_folder).get("functionTimeout")
    match = _TIME_SPAN.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise SettingError(
            f"functionTimeout in host.json is {'missing' if text is None else text}: functions must end, so set a time "
            "span such as 00:30:00."
        )
    days, hours, minutes, seconds = match.groups()
    return ((int(days or 0) * 24 + int(hours)) * 60 + int(minutes)) * 60 + float(seconds)


def _host_json(app_folder: Path) -> dict[str, Any]:
    try:
        content = json.loads((app_folder / "host.json").read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise SettingError(f"host.json cannot be read ({error}): deploy it with the app.") from error
    return content if isinstance(content, dict) else {}
