"""Structured log lines for operators, and the same numbers as OpenTelemetry counters and gauges.

A line is a constant message followed by JSON, so that a log query can parse it. No document, key or value is in it.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from opentelemetry.metrics import Counter, _Gauge

BATCH_APPLIED: Final = "Batch applied"
# The alerts and the workbook in infra/ look for `lag_seconds` and `unknown` in these lines.
LAG_MEASURED: Final = "Lag measured"
VERIFIED: Final = "Verified"
ACCOUNT_OWED: Final = "Storage account owed"

_log = logging.getLogger(__name__)


def batch_applied(source: str, numbers: Mapping[str, int]) -> None:
    """A batch of changes was applied, with these numbers by their names."""
    _log.info("%s: %s", BATCH_APPLIED, orjson.dumps({"source": source, **numbers}).decode())
    for name, number in numbers.items():
        if number:
            _counter(name).add(number, {"source": source})


def lag_measured(source: str, indexes: Iterable[str], lag_seconds: float | None, unknown: str | None) -> None:
    """How far a source, and so each of its indexes, is behind; None when that is not known."""
    if lag_seconds is None:
        _log.warning("%s: %s", LAG_MEASURED, orjson.dumps({"source": source, "unknown": unknown}).decode())
        return
    _log.info("%s: %s", LAG_MEASURED, orjson.dumps({"source": source, "lag_seconds": lag_seconds}).decode())
    _lag_gauge().set(lag_seconds, {"source": source})
    for index in indexes:
        _lag_gauge().set(lag_seconds, {"source": source, "index": index})


def account_owed(account: str, indexes: Sequence[str], facts: int, age_seconds: float) -> None:
    """A storage account is or was down, and entries of these indexes wait for it; an alert looks for this line."""
    fields = {"account": account, "indexes": indexes, "facts": facts, "age_seconds": round(age_seconds)}
    _log.warning("%s: %s", ACCOUNT_OWED, orjson.dumps(fields).decode())


def verified(index: str, sample: int | None, report: Mapping[str, object]) -> None:
    """A verification has ended; the alert on differences looks for `total` in this line."""
    numbers = {name: value for name, value in report.items() if name != "examples"}
    level = logging.WARNING if report["total"] else logging.INFO
    _log.log(level, "%s: %s", VERIFIED, orjson.dumps({"index": index, "sample": sample, **numbers}).decode())


@cache
def _lag_gauge() -> _Gauge:
    from opentelemetry import metrics

    return metrics.get_meter("index-tables").create_gauge("index_tables.lag_seconds", unit="s")


@cache
def _counter(name: str) -> Counter:
    """The counter of one number; the API is imported at the first batch, not at the start."""
    from opentelemetry import metrics

    return metrics.get_meter("index-tables").create_counter(f"index_tables.changes.{name}")
