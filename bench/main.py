"""The command line, `python -m bench`: run, list, compare, baseline, report, scale.

Standard output is the answer, standard error is progress and complaints. Exit 0: fine; 1: worse than the
baseline, or a workload cannot be measured; 2: wrong usage.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import bench.workloads
from bench.arguments import parse
from bench.cases.distant_tables import distance_of
from bench.errors import BenchUsageError
from bench.measure import result, session
from bench.measure.case import SYSTEM_CLOCKS, Clocks
from bench.measure.comparison import compare
from bench.measure.meter import Meter
from bench.measure.result import BASELINE, LATEST
from bench.measure.workload import Workload, check_names, discover
from bench.report import table, terminal
from local.process.errors import LocalAzureError
from shared.errors import IndexTablesError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence
    from types import ModuleType

FINE, PROBLEM, WRONG_USAGE = 0, 1, 2
_FORMATS = {"table": terminal.text, "details": table.markdown, "json": result.to_json}


def main(
    arguments: Sequence[str] | None = None,
    package: ModuleType = bench.workloads,
    clocks: Clocks = SYSTEM_CLOCKS,
) -> int:
    """Run one command over the workloads in `package`; the exit code."""
    options = parse(arguments)
    try:
        match options.command:
            case "run":
                return _run(options, discover(package), clocks)
            case "list":
                return _list(discover(package))
            case "compare":
                return _compare(options)
            case "baseline":
                return _baseline(discover(package))
            case "report":
                return _report()
            case _:
                return _scale(options)
    except (IndexTablesError, LocalAzureError) as error:
        print(error, file=sys.stderr)
        return WRONG_USAGE if isinstance(error, BenchUsageError) else PROBLEM


def _run(options: Namespace, workloads: Mapping[str, Workload], clocks: Clocks) -> int:
    check_names(options.names, workloads)
    # Before the run, which may take minutes.
    if not options.out.parent.is_dir():
        raise BenchUsageError(f"The folder of {options.out} does not exist: create it or give another --out.")
    distance = dict(options.distance)
    distance_of(distance)
    chosen = {name: found for name, found in workloads.items() if name in (options.names or workloads)}
    today = datetime.now(UTC).date().isoformat()
    measured = session.run(chosen, Meter(options.rounds, options.scale, clocks, distance=distance), today)
    result.write(measured, options.out)
    print(_FORMATS[options.format](measured), end="")
    return FINE if measured.workloads.keys() == chosen.keys() else PROBLEM


def _list(workloads: Mapping[str, Workload]) -> int:
    for workload in workloads.values():
        print(f"{workload.name}: {workload.sentence}")
    return FINE


def _compare(options: Namespace) -> int:
    baseline, measured = result.read(options.baseline), result.read(options.result)
    if options.workload:
        check_names(options.workload, baseline.workloads)
        baseline, measured = baseline.only(options.workload), measured.only(options.workload)
    comparison = compare(baseline, measured, options.tolerance)
    for note in comparison.notes:
        print(f"Note: {note}")
    for regression in comparison.regressions:
        print(f"Worse: {regression}")
    print(f"Measurements compared: {comparison.compared}; regressions: {len(comparison.regressions)}.")
    return PROBLEM if comparison.regressions else FINE


def _baseline(workloads: Mapping[str, Workload]) -> int:
    measured = result.read(LATEST)
    missing = sorted(workloads.keys() - measured.workloads.keys())
    if missing or measured.scale != 1:
        raise BenchUsageError(
            f"The latest run has scale {measured.scale:g} and lacks {', '.join(missing) or 'nothing'}: "
            "a baseline is a full run, `python -m bench run`."
        )
    result.write(measured, BASELINE)
    print(f"{BASELINE.name} is the run of {measured.date} now; commit it with the reason, after `bench report`.")
    return FINE


def _report() -> int:
    from bench.report import pages  # the simulator and the charts, which a run does not need

    for path in pages.write(result.read(BASELINE)):
        print(path)
    return FINE


def _scale(options: Namespace) -> int:
    from bench.model import scale_command

    print(scale_command.run(options))
    return FINE
