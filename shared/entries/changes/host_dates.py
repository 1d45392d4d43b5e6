"""A habit of the real host: it may rewrite texts that look like ISO 8601 times inside documents.

Its JSON library turns such a text into a time and writes it back in its own form: trailing zeros of the fraction go,
digits after the seventh too, and an offset becomes the machine's own, which in Azure is UTC. The instant is the same,
the text is not. A fact that is read from its container may therefore look other than the change that was applied.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_DIGITS_KEPT = 7


def as_host_rewrites(value: Any) -> Any:
    """The value with every time in it written as the host would."""
    if isinstance(value, str):
        match = _TIME.fullmatch(value)
        return _rewrite(match) if match else value
    if isinstance(value, dict):
        return {name: as_host_rewrites(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [as_host_rewrites(inner) for inner in value]
    return value


def _rewrite(match: re.Match[str]) -> str:
    seconds, fraction, offset = match.groups()
    try:
        moment = datetime.fromisoformat(seconds + (offset or ""))
        if offset not in (None, "Z"):
            moment, offset = moment.astimezone(UTC), "+00:00"
    except (ValueError, OverflowError):  # no such day, or out of range once it is UTC
        return match[0]
    kept = (fraction or "")[:_DIGITS_KEPT].rstrip("0")
    return moment.strftime("%Y-%m-%dT%H:%M:%S").zfill(19) + (f".{kept}" if kept else "") + (offset or "")
