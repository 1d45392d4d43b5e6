"""`bench run` and `bench list` on real workloads, found as modules of a package."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bench.workloads
from bench.main import main
from bench.measure.workload import discover
from tests.support import ROOT

if TYPE_CHECKING:
    from types import ModuleType

README = ROOT / "bench" / "README.md"
# Whole hosts that start, stop and wait for each other.
SLOW = {"live"}
WORKLOAD = '''"""Counts to three."""
from bench.measure.case import Case
NAME = "three"
async def measure(meter):
    case = Case("range", 3, lambda: {"counted": len(range(3))})
    return [await meter.compare("count", unit="number", subject=case)]
'''


SPINNING = '''"""Counts up."""
from bench.measure.case import Case
NAME = "spin"
WORK = 20_000
def spinning(name, work):
    return Case(name, 1, lambda: sum(range(work)) and {"transactions": 3})
async def measure(meter):
    yardstick = spinning("yardstick", 20_000)
    return [await meter.compare("sum", unit="sum", subject=spinning("subject", WORK), yardsticks=[yardstick])]
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An empty package for workloads, with a name of its own."""
    name = "workloads_of_" + re.sub(r"\W", "_", tmp_path.name)
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module(name)


def plant(package: ModuleType, module: str, source: str) -> None:
    """Write one workload's module."""
    Path(package.__path__[0], f"{module}.py").write_text(source, encoding="utf-8")
    importlib.invalidate_caches()


def test_the_workload_in_the_readme_runs_as_it_stands(
    package: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its servers start and stop, every request is answered, and both bars get a verdict."""
    (snippet,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    plant(package, "middleware", snippet)
    out = tmp_path / "r.json"
    assert main(["run", "middleware", "--rounds", "2", "--scale", "0.05", "--out", str(out)], package) == 0
    (measurement,) = json.loads(out.read_text())["workloads"]["middleware"]["measurements"]
    assert measurement["subject"]["counts"] == {"answers": 10}
    assert len(measurement["verdicts"]) == 2
    assert "GET /" in capsys.readouterr().out


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(name, marks=[pytest.mark.long] if name in SLOW else [])
        for name in sorted(discover(bench.workloads))
    ],
)
def test_every_workload_runs_and_compares_with_itself(workload: str, tmp_path: Path) -> None:
    """Each one works at a tiny scale, so none is broken until someone runs it."""
    out = str(tmp_path / "r.json")
    assert main(["run", workload, "--rounds", "1", "--scale", "0.001", "--out", out]) == 0
    assert main(["compare", "--workload", workload, "--baseline", out, out]) == 0


def test_a_slowdown_and_a_changed_count_planted_in_a_workload_are_found(
    package: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Really run, three times: as it was, three times as slow, and with one more transaction."""
    before, now = str(tmp_path / "before.json"), str(tmp_path / "now.json")
    plant(package, "spin_before", SPINNING)
    assert main(["run", "--rounds", "3", "--out", before], package) == 0
    Path(package.__path__[0], "spin_before.py").unlink()
    plant(package, "spin_slow", SPINNING.replace("WORK = 20_000", "WORK = 60_000"))
    assert main(["run", "--rounds", "3", "--out", now], package) == 0
    assert main(["compare", "--baseline", before, now]) == 1
    assert "times 'yardstick' in cpu time" in capsys.readouterr().out
    Path(package.__path__[0], "spin_slow.py").unlink()
    plant(package, "spin_dear", SPINNING.replace('"transactions": 3', '"transactions": 4'))
    assert main(["run", "--rounds", "3", "--out", now], package) == 0
    assert main(["compare", "--baseline", before, "--tolerance", "9", now]) == 1
    assert "the count 'transactions' of 'subject' is 4; the baseline has exactly 3." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ('raise BenchError("It is too small.")', "It is too small."),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_workload_that_fails_takes_nothing_with_it(
    package: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: str, complaint: str
) -> None:
    """What the others measured is kept and printed; the exit code is 1."""
    broken = f"    from bench.errors import BenchError\n    {fault}\n    case ="
    plant(package, "broken", WORKLOAD.replace('"three"', '"broken"').replace("    case =", broken))
    plant(package, "three", WORKLOAD)
    out = tmp_path / "r.json"
    assert main(["run", "--rounds", "1", "--out", str(out)], package) == 1
    assert {*json.loads(out.read_text())["workloads"]} == {"three"}
    printed = capsys.readouterr()
    assert "three: Counts to three.\n  count " in printed.out
    assert complaint in printed.err
    assert "broken failed and is not in the result." in printed.err


def test_json_goes_to_standard_output_and_progress_elsewhere(
    package: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The printed result is the kept one, and says under which circumstances it was taken."""
    plant(package, "three", WORKLOAD)
    out = tmp_path / "r.json"
    assert main(["run", "--rounds", "1", "--format", "json", "--out", str(out)], package) == 0
    printed = capsys.readouterr()
    assert printed.out == out.read_text(encoding="utf-8")
    assert re.fullmatch(r"three: Counts to three\.\nthree: \d+ s\n", printed.err)
    assert {*json.loads(printed.out)} == {"date", "python", "cpu_count", "rounds", "scale", "workloads"}


def test_the_committed_baseline_knows_only_workloads_that_exist() -> None:
    """A renamed or removed workload takes its baseline along."""
    baseline = json.loads((ROOT / "bench/results/baseline.json").read_text(encoding="utf-8"))
    assert {*baseline["workloads"]} <= {*discover(bench.workloads)}


def test_scale_answers_for_one_load(capsys: pytest.CaptureFixture[str]) -> None:
    """From the committed baseline; what it rests on is said below the table."""
    load = ["--facts", "2e7", "--changes-per-second", "50", "--keys", "shared", "--call-ms", "4"]
    assert main(["scale", *load]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| 20,000,000 | 50 ")
    assert "A call takes 4 ms" in "\n".join(lines)


def test_only_a_full_run_becomes_the_baseline(
    package: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part of one is refused, and so is another size; a whole one is taken as it is."""
    latest, baseline = tmp_path / "latest.json", tmp_path / "baseline.json"
    monkeypatch.setattr("bench.main.LATEST", latest)
    monkeypatch.setattr("bench.main.BASELINE", baseline)
    plant(package, "three", WORKLOAD)
    plant(package, "four", WORKLOAD.replace('"three"', '"four"'))
    assert main(["run", "three", "--rounds", "1", "--out", str(latest)], package) == 0
    assert main(["baseline"], package) == 2
    assert "has scale 1 and lacks four" in capsys.readouterr().err
    assert main(["run", "--rounds", "1", "--scale", "2", "--out", str(latest)], package) == 0
    assert main(["baseline"], package) == 2
    assert main(["run", "--rounds", "1", "--out", str(latest)], package) == 0
    assert main(["baseline"], package) == 0
    assert baseline.read_text() == latest.read_text()


def test_the_module_is_a_program() -> None:
    """`python -m bench list` names each workload with its sentence."""
    listed = subprocess.run(
        [sys.executable, "-m", "bench", "list"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "apply: What applying a change costs on Azurite" in listed.stdout


def test_an_unknown_workload_is_wrong_usage(package: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Near names are offered; without any, all names."""
    plant(package, "three", WORKLOAD)
    assert main(["run", "thre"], package) == 2
    assert capsys.readouterr().err == "There is no workload 'thre': did you mean three?\n"
    assert main(["run", "xyz"], package) == 2
    assert capsys.readouterr().err == "There is no workload 'xyz': there are: three.\n"


def test_a_missing_folder_is_said_before_anything_runs(
    package: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Minutes of measuring are not thrown away for a wrong path."""
    plant(package, "three", WORKLOAD)
    assert main(["run", "--out", str(tmp_path / "no" / "r.json")], package) == 2
    assert capsys.readouterr().err.endswith("does not exist: create it or give another --out.\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "--rounds", "0"], "'0' is not a whole number of at least 1"),
        (["run", "--rounds", "two"], "'two' is not a whole number of at least 1"),
        (["run", "--scale", "0"], "0 measures nothing: give a number above 0"),
        (["run", "--scale", "nan"], "'nan' is not a number of at least 0"),
        (["compare", "--tolerance", "-1"], "'-1' is not a number of at least 0"),
        (["scale", "--facts", "0"], "0 measures nothing: give a number above 0"),
        (["scale", "--keys", "odd"], "invalid choice: 'odd'"),
        (["run", "--format", "xml"], "invalid choice: 'xml'"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_a_wrong_command_line_is_refused(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and a complaint that says what was expected."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    "fault",
    [
        WORKLOAD.replace('"""Counts to three."""', ""),
        WORKLOAD.replace('NAME = "three"', ""),
        WORKLOAD.replace("async def measure", "async def measured"),
    ],
    ids=["docstring", "NAME", "measure"],
)
def test_a_module_that_is_no_workload_is_refused(
    fault: str, package: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """The complaint names the module and what every workload needs."""
    plant(package, "three", fault)
    assert main(["list"], package) == 1
    assert f"{package.__name__}.three is no workload: it needs a docstring" in capsys.readouterr().err


def test_two_workloads_of_one_name_are_refused(package: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """The second would hide the first."""
    plant(package, "three", WORKLOAD)
    plant(package, "trois", WORKLOAD)
    assert main(["list"], package) == 1
    assert "Two workloads are called 'three': rename the one in" in capsys.readouterr().err


def test_two_measurements_of_one_name_are_refused(
    package: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A baseline could not tell them apart."""
    plant(package, "three", WORKLOAD.replace("subject=case)]", "subject=case)] * 2"))
    assert main(["run", "--rounds", "1", "--out", str(tmp_path / "r.json")], package) == 1
    assert "Workload 'three' has two measurements of one name" in capsys.readouterr().err
