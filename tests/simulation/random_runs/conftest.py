"""Says at the end of a test run how many simulations it has played, and what they covered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.simulation.random_runs.coverage import Coverage, Event, lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from _pytest.terminal import TerminalReporter

    from tests.simulation.random_runs.play import Played

_RUNS: Final = "random runs"


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[Played], None]:
    """Have the outcome of some seeds counted. Properties of a test find their way from other processes."""

    def note(played: Played) -> None:
        record_property(_RUNS, played.runs)
        for event, count in played.coverage.items():
            record_property(event.value, count)

    return note


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """The sums over all tests."""
    coverage, runs = Coverage(), 0
    for report in terminalreporter.getreports("passed"):
        properties = dict(report.user_properties)
        runs += properties.get(_RUNS, 0)
        if _RUNS in properties:
            coverage.update({event: properties[event.value] for event in Event if event.value in properties})
    if runs:
        terminalreporter.section("random simulations")
        terminalreporter.write_line("\n".join([*lines(coverage), f"{runs:,} runs, 0 violations"]))
