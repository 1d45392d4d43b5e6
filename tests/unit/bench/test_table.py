"""The Markdown table of a result."""

from __future__ import annotations

from bench.formats import number, seconds
from bench.measure.measurement import Bar
from bench.measure.spread import Spread
from bench.report.table import bar_text, markdown
from tests.unit.bench.test_compare import exactly, planted


def cells(line: str) -> list[str]:
    """The cells of one row, without their padding."""
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def test_a_row_for_the_subject_and_one_for_each_yardstick() -> None:
    """The subject has its counts, the yardstick the ratios and the bar against it."""
    lines = markdown(planted(Spread(1.1, 1.3, 1.4))).splitlines()
    assert cells(lines[2]) == [
        "load", "**ours** (bulk)", "1 ms (1 to 1) per change", "500 µs", "", "", "transactions 3", "",
    ]  # fmt: skip
    assert cells(lines[3]) == [
        "", "raw limit", "1 ms (1 to 1) per change", "500 µs", "1.3 (1.1 to 1.4)", "1 (1 to 1)", "",
        "time ≤ 1.25 times raw limit: not reached",
    ]  # fmt: skip


def test_the_columns_line_up() -> None:
    """The table reads well in a terminal too."""
    table = [line for line in markdown(planted(exactly(1.0))).splitlines() if line.startswith("|")]
    assert len({len(line) for line in table}) == 1


def test_the_table_explains_itself() -> None:
    """Circumstances, how to read it, and each workload's sentence follow."""
    text = markdown(planted(exactly(1.0)))
    assert "Medians of 9 rounds" in text
    assert "2025-01-02, Python 3.13.0, 2 processors, scale 1." in text
    assert text.endswith("- `load`: Loads | unloads.\n")


def test_a_bar_in_a_name_does_not_break_the_row() -> None:
    """A vertical bar inside a cell is escaped."""
    assert r"| a\|b " in markdown(planted(exactly(1.0), workload="a|b"))


def test_durations_are_in_the_unit_that_reads_best() -> None:
    """From nanoseconds to many seconds, three digits."""
    values = [0.0, 4.2e-8, 1.234e-5, 0.25, 2.0, 12345.6]
    assert [seconds(value) for value in values] == ["0 ns", "42 ns", "12.3 µs", "250 ms", "2 s", "12346 s"]


def test_numbers_never_have_an_exponent() -> None:
    """A stranger reads the table."""
    assert [number(value) for value in (0.0000123456, 0.0833333, 1.25, 99.99, 999.9, 123456.0)] == [
        "0.0000123", "0.0833", "1.25", "100", "1000", "123456",
    ]  # fmt: skip


def test_a_bar_says_what_it_asks_for() -> None:
    """Against a yardstick or in seconds, by one of the clocks."""
    assert bar_text(Bar(1.5, "raw")) == "time ≤ 1.5 times raw"
    assert bar_text(Bar(0.0002, clock="cpu")) == "CPU ≤ 200 µs"
