"""What Azure charges, from one dated file: `prices.json`, and nowhere else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PRICES_FILE: Final = Path(__file__).with_name("prices.json")
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per so many units; not `confirmed` when the price page itself was not seen."""

    dollars: float
    per: int
    unit: str
    confirmed: bool
    source: str

    def of(self, amount: float) -> float:
        """What an amount of units costs."""
        return amount / self.per * self.dollars


def read_prices(path: Path = PRICES_FILE) -> dict[str, Price]:
    """The prices by name."""
    return {name: Price(**fields) for name, fields in _content(path)["prices"].items()}


def prices_date(path: Path = PRICES_FILE) -> str:
    """The day of the prices, as an ISO date."""
    return str(_content(path)["date"])


def _content(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
