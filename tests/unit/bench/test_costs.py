"""Costs are computed from one dated price file, and the documentation shows what the script prints."""

from __future__ import annotations

import inspect
import json
import re

import pytest

from bench.model import money
from bench.model.costs import LOADS, MonthlyLoad, rows, table
from shared.monitoring.prices import PRICES_FILE, prices_date, read_prices
from tests.support import ROOT


def test_the_documentation_shows_the_table_as_printed() -> None:
    """Run `python -m bench.model.costs` and copy it after a change of prices."""
    assert table() in (ROOT / "docs/cost.md").read_text(encoding="utf-8")


def test_every_price_says_where_it_comes_from() -> None:
    """The file is dated, and what is not confirmed says so."""
    assert json.loads(PRICES_FILE.read_text(encoding="utf-8"))["date"] == prices_date() != ""
    assert all(price.source and price.dollars > 0 for price in read_prices().values())


def test_every_price_is_used() -> None:
    """A price that nothing uses would go stale unnoticed."""
    used = {name for parts in rows(LOADS[0]).values() for name, _ in parts}
    compared = set(re.findall(r'prices\(\)\["(\w+)"\]|prices\["(\w+)"\]', inspect.getsource(money)))
    assert used | {name for pair in compared for name in pair if name} == set(read_prices())


def test_what_rests_on_an_unconfirmed_price_is_marked() -> None:
    """With a sign in its cell, and only there."""
    prices = read_prices()
    doubtful = [name for name, parts in rows(LOADS[0]).items() if not all(prices[key].confirmed for key, _ in parts)]
    marked = [line.split(" | ")[0].removeprefix("| ") for line in table().splitlines() if "≈" in line]
    assert marked == doubtful


def test_a_transaction_costs_what_the_price_says() -> None:
    """A million lookups are a million transactions: 3.6 cents."""
    load = MonthlyLoad("only lookups", 0, 1_000_000, 1, 0, 1, 1)
    assert read_prices()["tableTransactions"].of(load.transactions) == pytest.approx(0.036)
