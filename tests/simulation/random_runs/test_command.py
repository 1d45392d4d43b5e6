"""`python -m tests.simulation`: seed ranges by command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from shared.pipeline.ledger import retention
from tests.simulation.__main__ import main

if TYPE_CHECKING:
    from click.testing import Result


def run(*arguments: str) -> Result:
    """The command in this process."""
    return CliRunner().invoke(main, arguments)


def test_what_runs_cover_is_printed() -> None:
    """With the number of runs, and exit code 0 when all of them are right."""
    result = run("--seeds", "0:2")
    assert result.exit_code == 0, result.output
    assert "storage calls" in result.output
    assert result.output.endswith("2 runs, 0 violations\n")


def test_a_violation_is_printed_with_its_trace_and_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here of a retention that forgets facts with entries."""
    monkeypatch.setattr(retention, "_is_over", lambda *_: True)
    result = run("--seeds", "0:20")
    assert result.exit_code == 1
    assert "retain: Ledger: Delete" in result.output
    assert "play it again with: python -m tests.simulation --seeds" in result.output
    assert ", 0 violations" not in result.output


@pytest.mark.parametrize("seeds", ["5:2", "5:5", "-1", "all", "1:2:3"])
def test_what_names_no_seeds_is_refused(seeds: str) -> None:
    """With a sentence that says what is wanted."""
    result = run("--seeds", seeds)
    assert result.exit_code == 2
    assert "names no seeds" in result.output
