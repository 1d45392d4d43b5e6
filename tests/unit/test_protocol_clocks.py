"""The clocks of the write protocol: no late request may outlive the sweep delay."""

from __future__ import annotations

import json

from local.host.configuration import time_span_seconds
from shared import settings
from shared.tables.retry import RetryPolicy
from tests.support import ROOT

# A lease of the Cosmos DB trigger expires after this, and another worker takes over.
LEASE_EXPIRY_SECONDS = 60


def test_the_sweep_delay_exceeds_everything_that_may_come_late() -> None:
    """A function that may run without end could write behind the sweep: functionTimeout must be finite."""
    timeout_seconds = time_span_seconds(json.loads((ROOT / "host.json").read_text())["functionTimeout"])
    assert timeout_seconds > 0
    latest_seconds = timeout_seconds + LEASE_EXPIRY_SECONDS + RetryPolicy().budget_seconds
    assert settings.number(settings.SWEEP_DELAY_SECONDS, {}) > latest_seconds
