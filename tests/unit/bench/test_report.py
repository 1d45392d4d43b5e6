"""What the documentation says about performance is what the committed baseline says."""

from __future__ import annotations

import pytest

from bench.measure import result as results
from bench.measure.measurement import Gauge
from bench.measure.result import BASELINE
from bench.model.azure import Azure
from bench.model.demand import MIX, read_demands
from bench.model.money import change_bills, lookup_bills
from bench.report.pages import files, transactions_table
from bench.report.summary import markdown, missed
from bench.report.terminal import COLUMNS, text
from bench.workloads.transactions import KINDS
from tests.support import ROOT
from tests.unit.bench.test_compare import exactly, planted


@pytest.fixture(scope="module")
def baseline() -> results.Result:
    """The committed one."""
    return results.read(BASELINE)


def test_a_run_prints_lines_that_fit_a_terminal_with_a_verdict_for_each_bar(baseline: results.Result) -> None:
    lines = text(baseline).splitlines()
    assert max(map(len, lines)) <= COLUMNS
    verdicts = [line for line in lines if line.startswith(("  reached ", "  NOT REACHED "))]
    assert sum("NOT REACHED" in line for line in verdicts) == len(missed(baseline))
    assert len(verdicts) > len(missed(baseline))


def test_the_baseline_is_of_the_usual_size(baseline: results.Result) -> None:
    """Counts and ratios of another size are other counts and ratios."""
    assert baseline.scale == 1


def test_the_pages_are_made_from_the_baseline(baseline: results.Result) -> None:
    """Run `python -m bench report` after a new baseline, new prices or a new template."""
    for path, content in files(baseline).items():
        assert (ROOT / path).read_text(encoding="utf-8") == content, f"{path} is not what `bench report` writes"


def test_the_mix_of_the_simulator_is_made_of_measured_kinds(baseline: results.Result) -> None:
    """All of them are there, and the shares are all of the changes."""
    assert {*MIX} <= {kind.name for kind in KINDS}
    assert sum(MIX.values()) == pytest.approx(1)
    assert len(transactions_table(baseline).splitlines()) == 2 + len(KINDS)


def test_batches_make_a_change_cheaper_and_an_index_more_dearer(baseline: results.Result) -> None:
    """The counts that scale and money rest on behave as counts of a pipeline do."""
    one, three = read_demands(baseline, indexes=1), read_demands(baseline, indexes=3)
    alone, together = three.at(1), three.at(1000)
    assert together.transactions < alone.transactions
    assert one.at(1).entry_transactions < three.at(1).entry_transactions
    assert one.at(1).ledger_transactions == three.at(1).ledger_transactions


def test_a_query_over_all_partitions_costs_more_with_more_facts(baseline: results.Result) -> None:
    """Ours does not; neither does a global secondary index."""
    few, many = ({bill.name: bill.total for bill in lookup_bills(facts, Azure())} for facts in (1e7, 1e10))
    assert (
        few["Index Tables, in the application's process"]
        == many["Index Tables, in the application's process"]
        == pytest.approx(0.036)
    )
    assert many["Cosmos DB query, serverless"] == pytest.approx(205 * few["Cosmos DB query, serverless"])
    assert few["Cosmos DB global secondary index"] == many["Cosmos DB global secondary index"]
    bills = [bill.total for bill in change_bills(read_demands(baseline), Azure(), 3)[:3]]
    assert bills == sorted(bills, reverse=True)


def test_a_row_says_what_how_much_compared_to_what_and_the_bar() -> None:
    """In words that a stranger understands."""
    row = markdown(planted(exactly(0.05))).splitlines()[2]
    cells = [cell.strip() for cell in row.strip("|").split(" | ")]
    assert cells == [
        "load: bulk", "1 ms per change", "500 µs", "0.03 per change", "20 times as fast as raw limit",
        "time: ≤ 1.25 times as long as raw limit: reached",
    ]  # fmt: skip
    assert missed(planted(exactly(1.3))) == ["load, bulk: time: ≤ 1.25 times as long as raw limit"]


def test_a_gauge_has_its_own_bar() -> None:
    """Reached, missed, or none."""
    gauges = (Gauge("lag", "s", 2.0, at_most=1.0), Gauge("lag", "s", 2.0, at_most=3.0), Gauge("lag", "s", 2.0))
    assert [gauge.reached for gauge in gauges] == [False, True, None]
