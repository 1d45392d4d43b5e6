"""What reading and writing a 1 KB JSON document costs with orjson, against Python's own json."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import orjson

from bench.case import Case
from bench.measurement import Bar

if TYPE_CHECKING:
    from bench.measurement import Measurement
    from bench.meter import Meter

NAME = "json"
DOCUMENTS = 10_000
# orjson is a compiled dependency; with less of a gain than this it would not be worth its place.
WORTH_IT = 0.5

CUSTOMER = {
    "id": "c-42",
    "name": {"first": "Zoë", "last": "Müller"},
    "town": "Redmond",
    "balance": -12.5,
    "active": True,
    "orders": [{"id": f"o-{n}", "placedAt": f"2025-01-{n:02}T08:00:00Z", "total": n * 9.95} for n in range(1, 16)],
}


async def measure(meter: Meter) -> list[Measurement]:
    """Both directions; the text is the same bytes for both libraries."""
    text = orjson.dumps(CUSTOMER)
    return [
        await meter.compare(
            "read",
            unit="document",
            subject=Case.repeating("orjson.loads", lambda: orjson.loads(text), meter.scaled(DOCUMENTS)),
            yardsticks=[Case.repeating("json.loads", lambda: json.loads(text), meter.scaled(DOCUMENTS))],
            bars=[Bar(at_most=WORTH_IT, against="json.loads")],
        ),
        await meter.compare(
            "write",
            unit="document",
            subject=Case.repeating("orjson.dumps", lambda: orjson.dumps(CUSTOMER), meter.scaled(DOCUMENTS)),
            yardsticks=[Case.repeating("json.dumps", lambda: json.dumps(CUSTOMER), meter.scaled(DOCUMENTS))],
            bars=[Bar(at_most=WORTH_IT, against="json.dumps")],
        ),
    ]
