"""The clocks of the write protocol: no late request may outlive the sweep delay."""

from __future__ import annotations

import json

from local.host.configuration import time_span_seconds
from shared import settings
from shared.tables.retry import RetryPolicy
from tests.support import ROOT

# A lease of the Cosmos DB trigger expires after this, and another worker takes over.
LEASE_EXPIRY_SECONDS = 60


def function_timeout_seconds() -> float:
    """After this no function of the app runs any more."""
    return time_span_seconds(json.loads((ROOT / "host.json").read_text())["functionTimeout"])


def test_the_sweep_delay_exceeds_everything_that_may_come_late() -> None:
    """A function that may run without end could write behind the sweep: functionTimeout must be finite."""
    assert function_timeout_seconds() > 0
    latest_seconds = function_timeout_seconds() + LEASE_EXPIRY_SECONDS + RetryPolicy().budget_seconds
    assert settings.number(settings.SWEEP_DELAY_SECONDS, {}) > latest_seconds


def test_a_build_starts_after_the_last_batch_that_does_not_know_the_generation() -> None:
    """It began with the oldest catalog that is allowed, ran as long as it may, and its last request came late."""
    refresh_seconds = settings.seconds(settings.CATALOG_REFRESH_SECONDS, {})
    latest_seconds = refresh_seconds + function_timeout_seconds() + RetryPolicy().budget_seconds
    assert settings.number(settings.BUILD_DELAY_SECONDS, {}) > latest_seconds
