"""`bench compare` finds what got worse, on planted results: no clock is involved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from bench.main import main
from bench.measure import result as results
from bench.measure.comparison import CEILING, compare, tolerance
from bench.measure.measurement import Bar, Cost, Counts, Gauge, Measurement, Ratio, Timing, Verdict
from bench.measure.result import Result, WorkloadResult
from bench.measure.spread import Spread

if TYPE_CHECKING:
    from pathlib import Path


def exactly(value: float) -> Spread:
    """A spread of no width."""
    return Spread(value, value, value)


def planted(times: Spread, cpu: Spread | None = None, counts: Counts | None = None, workload: str = "load") -> Result:
    """A result with one measurement whose ratio is `times`."""
    seconds = Cost(exactly(0.001), exactly(0.0005))
    measurement = Measurement(
        name="bulk",
        unit="change",
        subject=Timing("ours", 100, seconds, counts or {"transactions": 3}),
        yardsticks=(Timing("raw limit", 100, seconds, {}),),
        ratios=(Ratio("raw limit", Cost(times, cpu or exactly(1.0))),),
        verdicts=(Verdict(Bar(1.25, "raw limit"), times.median, times.median <= 1.25),),
    )
    workloads = {workload: WorkloadResult("Loads | unloads.", (measurement,))}
    return Result("2025-01-02", "3.13.0", 2, 9, 1.0, workloads)


def changed(result: Result, **fields: Any) -> Result:
    """The same result, with other fields in its measurement."""
    (measurement,) = result.workloads["load"].measurements
    return replace(result, workloads={"load": WorkloadResult("Loads.", (replace(measurement, **fields),))})


def gauged(*gauges: Gauge) -> Result:
    """A result with gauges."""
    return changed(planted(exactly(1.0)), gauges=gauges)


def kept(result: Result, path: Path) -> str:
    """The result as a file."""
    results.write(result, path)
    return str(path)


def test_a_result_survives_its_file(tmp_path: Path) -> None:
    """What was written is what is read."""
    result = planted(Spread(1.0, 1.1, 1.3))
    results.write(result, tmp_path / "r.json")
    assert results.read(tmp_path / "r.json") == result


def test_the_same_result_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is worse than itself."""
    file = kept(planted(exactly(1.2)), tmp_path / "r.json")
    assert main(["compare", "--baseline", file, file]) == 0
    assert capsys.readouterr().out == "Measurements compared: 1; regressions: 0.\n"


def test_a_planted_slowdown_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sentence names place, yardstick, both ratios and what is allowed."""
    before = kept(planted(exactly(1.2)), tmp_path / "before.json")
    now = kept(planted(exactly(1.5)), tmp_path / "now.json")
    assert main(["compare", "--baseline", before, now]) == 1
    assert (
        "Worse: load / bulk: costs 1.5 times 'raw limit' in wall time; the baseline has 1.2 times, "
        "and up to 15% more is allowed.\n"
    ) in capsys.readouterr().out


def test_more_cpu_in_the_same_time_is_found() -> None:
    """Waiting less does not hide computing more."""
    comparison = compare(planted(exactly(1.0)), planted(exactly(1.0), cpu=exactly(1.3)))
    assert len(comparison.regressions) == 1
    assert "in cpu time" in comparison.regressions[0]


def test_a_changed_count_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One transaction more is a regression; so is one less, until the baseline says so."""
    before = kept(planted(exactly(1.0)), tmp_path / "before.json")
    for transactions in (2, 4):
        counts = {"transactions": transactions}
        now = kept(planted(exactly(1.0), counts=counts), tmp_path / "now.json")
        assert main(["compare", "--baseline", before, now]) == 1
        expected = f"the count 'transactions' of 'ours' is {transactions}; the baseline has exactly 3."
        assert expected in capsys.readouterr().out


def test_a_count_that_came_or_went_is_found() -> None:
    """A baseline that does not know a count cannot vouch for it."""
    comparison = compare(planted(exactly(1.0)), planted(exactly(1.0), counts={"reads": 1}))
    assert [text.split(": ")[1] for text in comparison.regressions] == [
        "the count 'reads' of 'ours' is 1; the baseline has exactly nothing.",
        "the count 'transactions' of 'ours' is nothing; the baseline has exactly 3.",
    ]


def test_a_gauge_that_grew_or_went_is_found() -> None:
    """One with a tolerance is held to it; one without belongs to the machine, but may not vanish."""
    baseline, grown = (
        gauged(Gauge("peak", "MB", peak, tolerance=0.25), Gauge("lag", "s", lag)) for peak, lag in ((100, 1), (130, 9))
    )
    assert compare(baseline, grown).regressions == (
        "load / bulk: 'peak' is 130 MB; the baseline has 100 MB, and up to 25% more is allowed.",
    )
    assert compare(baseline, gauged(Gauge("peak", "MB", 120, tolerance=0.25))).regressions == (
        "load / bulk: 'lag' is in the baseline but was not measured.",
    )


def test_ratios_that_chance_decides_are_not_compared_but_counts_are() -> None:
    """The phase of a poll makes a ratio; it makes no transaction."""
    baseline, worse = (
        changed(planted(exactly(times), counts={"transactions": count}), is_compared=False)
        for times, count in ((1.0, 3), (9.0, 4))
    )
    assert [text.split(": ")[1] for text in compare(baseline, worse).regressions] == [
        "the count 'transactions' of 'ours' is 4; the baseline has exactly 3."
    ]


def test_faster_is_fine() -> None:
    """Only worse is worse."""
    assert compare(planted(exactly(1.0)), planted(exactly(0.1))).regressions == ()


def test_noise_widens_what_is_allowed_up_to_a_ceiling() -> None:
    """The spread of both runs counts, within the floor and the ceiling."""
    narrow, wide, wild = exactly(1.0), Spread(0.9, 1.0, 1.1), Spread(0.1, 1.0, 9.0)
    assert tolerance(narrow, narrow, 0.15) == 0.15
    assert tolerance(wide, wide, 0.15) == pytest.approx(0.4)
    assert tolerance(wild, wild, 0.15) == CEILING


def test_what_is_no_longer_measured_is_a_regression() -> None:
    """Neither a workload nor a yardstick may vanish quietly."""
    baseline = planted(exactly(1.0))
    assert compare(baseline, baseline.only([])).regressions == (
        "load / bulk: is in the baseline but was not measured.",
    )
    (measurement,) = baseline.workloads["load"].measurements
    bare = replace(measurement, yardsticks=(), ratios=())
    without = replace(baseline, workloads={"load": WorkloadResult("Loads.", (bare,))})
    assert compare(baseline, without).regressions == (
        "load / bulk: 'raw limit' is in the baseline but was not measured.",
    )


def test_a_new_measurement_and_another_python_are_only_noted() -> None:
    """They are worth a word and no failure."""
    baseline = planted(exactly(1.0))
    result = replace(planted(exactly(1.0), workload="new"), python="3.11.7")
    workloads = {**baseline.workloads, **result.workloads}
    comparison = compare(baseline, replace(result, workloads=workloads))
    assert comparison.regressions == ()
    assert [note.split(":")[0] for note in comparison.notes] == [
        "The baseline is from Python 3.13.0 on 2 processors, the result from Python 3.11.7 on 2",
        "new / bulk is new",
    ]


def test_one_workload_can_be_compared_alone(tmp_path: Path) -> None:
    """A partial run is compared with the part of the baseline that it is about."""
    one, other = planted(exactly(1.0)), planted(exactly(1.0), workload="lookups")
    both = replace(one, workloads={**one.workloads, **other.workloads})
    baseline, now = kept(both, tmp_path / "both.json"), kept(one, tmp_path / "one.json")
    assert main(["compare", "--baseline", baseline, now]) == 1
    assert main(["compare", "--baseline", baseline, "--workload", "load", now]) == 0


def test_another_scale_cannot_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts and ratios of another size are other counts and ratios."""
    before = kept(planted(exactly(1.0)), tmp_path / "before.json")
    now = kept(replace(planted(exactly(1.0)), scale=0.1), tmp_path / "now.json")
    assert main(["compare", "--baseline", before, now]) == 2
    assert "run again with `--scale 1`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "cannot be read (No such file or directory): run `python -m bench run`"),
        ("{", "is not a result of this bench"),
        ("[]", "is not a result of this bench"),
        ('{"workloads": {}}', "is not a result of this bench (KeyError('date'))"),
    ],
)
def test_a_file_that_is_no_result_is_wrong_usage(
    content: str | None, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The complaint names the file and says how to make a good one."""
    file = tmp_path / "r.json"
    if content is not None:
        file.write_text(content)
    assert main(["compare", "--baseline", str(file), str(file)]) == 2
    assert f"{file} {complaint}" in capsys.readouterr().err


def test_a_count_that_is_no_integer_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A hand-edited baseline does not slip through."""
    file = tmp_path / "r.json"
    text = results.to_json(planted(exactly(1.0)))
    file.write_text(text.replace('"transactions": 3', '"transactions": 3.5'))
    assert main(["compare", "--baseline", str(file), str(file)]) == 2
    assert "the count 'transactions' is 3.5, which is no integer" in capsys.readouterr().err


def test_an_unknown_workload_gets_the_near_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A slip of the finger is answered with what was meant."""
    file = kept(planted(exactly(1.0)), tmp_path / "r.json")
    assert main(["compare", "--baseline", file, "--workload", "laod", file]) == 2
    assert capsys.readouterr().err == "There is no workload 'laod': did you mean load?\n"
