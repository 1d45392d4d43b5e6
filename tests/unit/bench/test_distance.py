"""The parameters of a distance."""

from __future__ import annotations

import pytest

from bench.cases.distant_tables import Distance, distance_of
from bench.main import main


def test_parameters_change_the_usual_distance() -> None:
    """The others stay."""
    assert distance_of({}) == Distance()
    changed = distance_of({"median_seconds": "0.025", "hot_prefix": "town "})
    assert (changed.median_seconds, changed.hot_prefix, changed.spread) == (0.025, "town ", Distance().spread)


@pytest.mark.parametrize(
    ("parameter", "complaint"),
    [("latency=1", "A distance has no 'latency'"), ("spread=wide", "spread=wide is not a number")],
)
def test_a_parameter_that_cannot_be_read_is_refused(
    parameter: str, complaint: str, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    """Before anything is measured."""
    assert main(["run", "distance", "--distance", parameter, "--out", f"{tmp_path}/r.json"]) == 2
    assert complaint in capsys.readouterr().err
