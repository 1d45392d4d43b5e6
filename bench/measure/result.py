"""The result of one run and its JSON form, which is also the form of the committed baseline.

It names the Python and the number of processors, never the machine.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.errors import BenchUsageError
from bench.measure.measurement import Bar, Cost, Counts, Gauge, Measurement, Ratio, Timing, Verdict
from bench.measure.spread import Spread

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

RESULTS = Path(__file__).parents[1] / "results"
LATEST = RESULTS / "latest.json"
BASELINE = RESULTS / "baseline.json"


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """What one workload says it measures, and what was measured."""

    sentence: str
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """Everything that one run measured, and under which circumstances."""

    date: str
    python: str
    cpu_count: int
    rounds: int
    scale: float
    workloads: Mapping[str, WorkloadResult]

    def measurement(self, workload: str, name: str) -> Measurement:
        """One measurement, which must be there."""
        measured = self.workloads[workload].measurements if workload in self.workloads else ()
        found = next((each for each in measured if each.name == name), None)
        if found is None:
            raise BenchUsageError(
                f"The result of {self.date} has no measurement '{name}' of workload '{workload}': make a full one with "
                "`python -m bench run`."
            )
        return found

    def only(self, names: Collection[str]) -> Result:
        """The same run, as if it had had only these workloads."""
        return replace(self, workloads={name: w for name, w in self.workloads.items() if name in names})


def to_json(result: Result) -> str:
    """The result as text; the same result is always the same text."""
    return json.dumps(asdict(result), indent=1, ensure_ascii=False) + "\n"


def write(result: Result, path: Path) -> None:
    """Keep the result in `path`."""
    try:
        path.write_text(to_json(result), encoding="utf-8")
    except OSError as error:
        raise BenchUsageError(f"{path} cannot be written ({error.strerror}): give another file with --out.") from error


def read(path: Path) -> Result:
    """The result that `path` holds."""
    try:
        return _result(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise BenchUsageError(
            f"{path} cannot be read ({error.strerror}): run `python -m bench run` to make a result."
        ) from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BenchUsageError(
            f"{path} is not a result of this bench ({error!r}): make it again with `python -m bench run`."
        ) from error


def _result(node: Any) -> Result:
    workloads = {
        name: WorkloadResult(str(found["sentence"]), tuple(map(_measurement, found["measurements"])))
        for name, found in node["workloads"].items()
    }
    circumstances = str(node["date"]), str(node["python"]), int(node["cpu_count"])
    return Result(*circumstances, int(node["rounds"]), float(node["scale"]), workloads)


def _measurement(node: Any) -> Measurement:
    return Measurement(
        str(node["name"]),
        str(node["unit"]),
        _timing(node["subject"]),
        tuple(map(_timing, node["yardsticks"])),
        tuple(Ratio(str(ratio["against"]), _cost(ratio["times"])) for ratio in node["ratios"]),
        tuple(map(_verdict, node["verdicts"])),
        tuple(Gauge(**gauge) for gauge in node["gauges"]),
        bool(node["is_compared"]),
    )


def _timing(node: Any) -> Timing:
    return Timing(str(node["name"]), int(node["operations"]), _cost(node["seconds"]), _counts(node["counts"]))


def _cost(node: Any) -> Cost:
    return Cost(_spread(node["wall"]), _spread(node["cpu"]))


def _spread(node: Any) -> Spread:
    return Spread(float(node["low"]), float(node["median"]), float(node["high"]))


def _counts(node: Any) -> Counts:
    for name, count in node.items():
        if type(count) is not int:
            raise ValueError(f"the count '{name}' is {count!r}, which is no integer")
    return dict(node)


def _verdict(node: Any) -> Verdict:
    return Verdict(Bar(**node["bar"]), float(node["median"]), bool(node["reached"]))
