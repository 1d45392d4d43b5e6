"""The clocks of the write protocol: no late request may outlive the sweep delay, or the app does not write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from local.host.configuration import time_span_seconds
from shared.app import settings, timing_checks
from shared.app.settings import Settings
from shared.errors import SettingError
from shared.tables.retry import RetryPolicy
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

STORAGE = {"INDEX_STORAGE": "UseDevelopmentStorage=true"}
DEVELOPMENT = {"AZURE_FUNCTIONS_ENVIRONMENT": "Development"}
START = """
import function_app
from shared.app.app import app
from shared.app.timing_checks import check_timing
from shared.errors import SettingError
print(*sorted(function.get_function_name() for function in function_app.app.get_functions()))
try:
    check_timing(app().root, app().settings)
    print("ready")
except SettingError as error:
    print(error)
"""


def app_with(folder: Path, host_json: str) -> Path:
    """The folder of an app with this host.json."""
    (folder / "host.json").write_text(host_json)
    return folder


def function_timeout_seconds() -> float:
    """After this no function of the app runs any more."""
    return time_span_seconds(json.loads((ROOT / "host.json").read_text())["functionTimeout"])


def test_the_sweep_delay_exceeds_everything_that_may_come_late() -> None:
    """As the app is deployed, without any setting."""
    timing_checks.check_timing(ROOT, Settings({}))


@pytest.mark.parametrize("environment", [{}, DEVELOPMENT], ids=["deployed", "at home"])
@pytest.mark.parametrize(
    ("host_json", "complaint"),
    [
        ('{"version": "2.0"}', "functionTimeout in host.json is missing"),
        ('{"functionTimeout": "-1"}', "functionTimeout in host.json is -1: functions must end"),
        ('{"functionTimeout": "half an hour"}', "is half an hour"),
        ('{"functionTimeout": 1800}', "is 1800"),
        ("[]", "is missing"),
        ('{"functionTimeout": ', "host.json cannot be read"),
    ],
)
def test_functions_that_may_run_without_end_are_refused(
    tmp_path: Path, host_json: str, complaint: str, environment: dict[str, str]
) -> None:
    """A function without end could write behind the sweep."""
    with pytest.raises(SettingError, match=complaint):
        timing_checks.check_timing(app_with(tmp_path, host_json), Settings(environment))


def test_an_app_without_host_json_is_refused(tmp_path: Path) -> None:
    """It is not known how long its functions may run."""
    with pytest.raises(SettingError, match=r"host\.json cannot be read"):
        timing_checks.check_timing(tmp_path, Settings({}))


def test_a_sweep_that_may_come_too_early_is_refused(tmp_path: Path) -> None:
    """It waits for function, lease and retries together; a second more is enough. A developer's machine need not
    wait."""
    app = app_with(tmp_path, '{"functionTimeout": "0.00:30:00"}')
    with pytest.raises(SettingError, match="SWEEP_DELAY_SECONDS is 1920, but a request may be 1920 s late"):
        timing_checks.check_timing(app, Settings({"SWEEP_DELAY_SECONDS": "1920"}))
    timing_checks.check_timing(app, Settings({"SWEEP_DELAY_SECONDS": "1921"}))
    timing_checks.check_timing(app, Settings({"SWEEP_DELAY_SECONDS": "2", **DEVELOPMENT}))


def test_a_sweep_later_than_a_queue_can_wait_is_refused(tmp_path: Path) -> None:
    """Every batch with a tombstone would fail for ever."""
    app = app_with(tmp_path, '{"functionTimeout": "00:30:00"}')
    with pytest.raises(SettingError, match="is 604801, but a queue keeps a message back for 604800 s at most"):
        timing_checks.check_timing(app, Settings({"SWEEP_DELAY_SECONDS": "604801", **DEVELOPMENT}))
    timing_checks.check_timing(app, Settings({"SWEEP_DELAY_SECONDS": "604800"}))


def test_a_build_that_may_start_too_early_is_refused(tmp_path: Path) -> None:
    """A batch that does not know the generation yet would not write its facts to it. A developer's machine need not
    wait."""
    app = app_with(tmp_path, '{"functionTimeout": "00:40:00"}')
    with pytest.raises(SettingError, match="BUILD_DELAY_SECONDS is 1920, but a batch may be 2490 s behind"):
        timing_checks.check_timing(app, Settings({}))
    timing_checks.check_timing(app, Settings({"BUILD_DELAY_SECONDS": "2491"}))
    timing_checks.check_timing(app, Settings(DEVELOPMENT))


def test_the_app_setting_wins_over_the_file(tmp_path: Path) -> None:
    """As it does on the platform."""
    app = app_with(tmp_path, '{"functionTimeout": "00:10:00"}')
    timing_checks.check_timing(app, Settings({"SWEEP_DELAY_SECONDS": "721"}))
    with pytest.raises(SettingError, match="721 s late"):
        later = {"SWEEP_DELAY_SECONDS": "721", "AzureFunctionsJobHost__functionTimeout": "00:10:01"}
        timing_checks.check_timing(app, Settings(later))


def started(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """An app with these settings: the names of its functions, and what its clocks say."""
    command = [sys.executable, "-c", START]
    everything = {**os.environ, **environment}
    return subprocess.run(command, cwd=ROOT, env=everything, capture_output=True, text=True, check=True)


def test_an_app_without_index_storage_starts_without_triggers() -> None:
    """Their leases would belong to no account; the health call says so."""
    shown = started({"INDEX_STORAGE": ""})
    assert "health_ready" in shown.stdout
    assert "changes-" not in shown.stdout
    assert "No triggers are registered: There is no storage connection INDEX_STORAGE" in shown.stderr


@pytest.mark.parametrize(("delay", "is_refused"), [("3600", False), ("600", True)])
def test_an_app_whose_clocks_are_wrong_starts_without_triggers(delay: str, is_refused: bool) -> None:
    """Health and lookups are there all the same; health and the log say why."""
    shown = started({"SWEEP_DELAY_SECONDS": delay, "AZURE_FUNCTIONS_ENVIRONMENT": "Production", **STORAGE})
    functions, problem = shown.stdout.splitlines()
    assert "health_ready" in functions
    assert ("changes-" in functions) != is_refused
    assert problem.startswith("SWEEP_DELAY_SECONDS is 600, but" if is_refused else "ready")
    assert ("No triggers are registered: SWEEP_DELAY_SECONDS" in shown.stderr) == is_refused


def test_a_build_starts_after_the_last_batch_that_does_not_know_the_generation() -> None:
    """It began with the oldest catalog that is allowed, ran as long as it may, and its last request came late."""
    refresh_seconds = Settings({}).value(settings.CATALOG_REFRESH_SECONDS)
    latest_seconds = refresh_seconds + function_timeout_seconds() + RetryPolicy().budget_seconds
    assert Settings({}).value(settings.BUILD_DELAY_SECONDS) > latest_seconds
