"""Writes what the documentation says about performance and money: docs/performance.md, its charts, the costs in
docs/cost.md, and a paragraph in the README.

All of it is made from one result, the committed baseline, and from the price file. Nothing is typed in.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from bench.formats import aligned, number, seconds
from bench.model import costs, money, scale_text
from bench.model.answers import SIZES, answer
from bench.model.azure import Load, azure_of
from bench.model.demand import MEASURED_INDEXES, read_demands
from bench.report import charts, summary, table
from bench.workloads.transactions import BATCHES, SCATTERED, SHARED, per_change

if TYPE_CHECKING:
    from bench.measure.measurement import Measurement
    from bench.measure.result import Result

ROOT = Path(__file__).parents[2]
PAGE, CHARTS, README = Path("docs/performance.md"), Path("docs/charts"), Path("README.md")
COST = Path("docs/cost.md")
_WIDTH = 118
_TEMPLATE = Path(__file__).with_name("performance_template.md")
_COSTS = re.compile(r"\| US dollars a month \|.*?(?=\n\n)", re.DOTALL)
_BLOCK = re.compile(r"(<!-- made by `python -m bench report` -->\n).*?(<!-- end -->)", re.DOTALL)


def files(result: Result, root: Path = ROOT) -> dict[Path, str]:
    """Every file that is made from the result, with its content."""
    azure, demands = azure_of(result), read_demands(result)
    answers = [answer(Load.daily(facts), azure, demands) for facts in SIZES]
    drawn = charts.charts(result, answers, azure)
    readme = (root / README).read_text(encoding="utf-8")
    return {
        PAGE: _page(result, scale_text.table(answers, demands)),
        COST: _COSTS.sub(lambda _: costs.table(), (root / COST).read_text(encoding="utf-8")),
        README: _BLOCK.sub(lambda found: found[1] + _paragraph(result) + found[2], readme),
        **{CHARTS / name: content for name, content in drawn.items()},
    }


def write(result: Result, root: Path = ROOT) -> list[Path]:
    """Write them all; which."""
    made = files(result, root)
    (root / CHARTS).mkdir(exist_ok=True)
    for path, content in made.items():
        (root / path).write_text(content, encoding="utf-8")
    return list(made)


def _page(result: Result, scale_table: str) -> str:
    azure, demands = azure_of(result), read_demands(result)
    return _TEMPLATE.read_text(encoding="utf-8").format(
        date=result.date,
        python=result.python,
        cpu_count=result.cpu_count,
        summary=summary.markdown(result),
        missed="\n".join(f"- {bar}" for bar in summary.missed(result)) or "None.",
        transactions=transactions_table(result),
        scale=scale_table,
        assumptions=scale_text.assumptions(azure, demands),
        changes_money=money.changes_table(demands, azure, MEASURED_INDEXES),
        lookups_money=money.lookups_table(SIZES, azure),
        details=table.markdown(result).rstrip(),
    )


def transactions_table(result: Result) -> str:
    """Kinds of changes against batch sizes: shared keys first, then scattered ones."""
    headings = ("change", *[f"{batch:,} at a time" for batch in BATCHES], "later, by the sweep")
    rows = []
    for measurement in result.workloads["transactions"].measurements:
        by_keys = {timing.name: timing.counts for timing in (measurement.subject, *measurement.yardsticks)}
        both = (by_keys[SHARED], by_keys[SCATTERED])
        cells = [" to ".join(number(per_change(counts, batch)) for counts in both) for batch in BATCHES]
        swept = both[0][f"sweep transactions, {BATCHES[-1]} at a time"] / both[0][f"facts, {BATCHES[-1]} at a time"]
        rows.append((measurement.name, *cells, number(swept)))
    return "\n".join(aligned([headings, *rows]))


def _paragraph(result: Result) -> str:
    """The few numbers that a newcomer asks for."""
    bulk = result.measurement("apply", "bulk load into 3 indexes")
    lag = {gauge.name: gauge.value for gauge in result.measurement("live", "lag at 500 ms poll").gauges}
    reading = result.measurement("lookup", "range of 20 rows")
    per_fact = bulk.subject.counts["transactions"] / bulk.subject.operations
    sentences = [
        (
            f"A fact loaded into three indexes takes {number(per_fact)} storage transactions and "
            f"{seconds(bulk.subject.seconds.cpu.median)} of CPU. Loading {_against(bulk)}."
        ),
        f"A page of 20 rows is one storage transaction. Reading it {_against(reading)} of the table.",
        (
            f"A write is visible in a lookup after {seconds(lag['lag, median'])} (median) and "
            f"{seconds(lag['lag, 99th percentile'])} (99th percentile), with the feed polled every 500 ms."
        ),
    ]
    return "\n".join(textwrap.fill(f"- {each}", _WIDTH, subsequent_indent="  ") for each in sentences) + "\n"


def _against(measurement: Measurement) -> str:
    compared = (summary.comparison(ratio).replace(" as bare ", " as a bare ") for ratio in measurement.ratios)
    return " and ".join(f"{'takes' if 'as long' in each else 'is'} {each}" for each in compared)
