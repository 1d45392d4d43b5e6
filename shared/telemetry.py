"""What the app tells its operators: one structured line per batch, and the same numbers as OpenTelemetry counters.

A line is a constant message followed by JSON, so that a log query can parse it. No document, key or value is in it.
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter

    from shared.pipeline.outcome import Outcome

BATCH_APPLIED: Final = "Batch applied"

_log = logging.getLogger(__name__)


def batch_applied(source: str, outcome: Outcome) -> None:
    """A batch of changes was applied."""
    numbers = asdict(outcome)
    _log.info("%s: %s", BATCH_APPLIED, orjson.dumps({"source": source, **numbers}).decode())
    for name, number in numbers.items():
        if number:
            _counter(name).add(number, {"source": source})


@cache
def _counter(name: str) -> Counter:
    """The counter of one number; the API is imported at the first batch, not at the start."""
    from opentelemetry import metrics

    return metrics.get_meter("index-tables").create_counter(f"index_tables.changes.{name}")
