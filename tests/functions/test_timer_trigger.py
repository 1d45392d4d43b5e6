"""Timer functions run on their schedule, once among several hosts, and as often as their retry policy says."""

from __future__ import annotations

import re
import textwrap
import time
import uuid
from typing import TYPE_CHECKING

import requests
from azure.storage.blob import BlobClient, BlobLeaseClient

from local.host.triggers.timers import STATUS_CONTAINER
from tests.functions.apps import serving, write_app
from tests.support import wait_until

if TYPE_CHECKING:
    from pathlib import Path

EVERY_SECOND = """
@app.timer_trigger(schedule="* * * * * *", arg_name="timer")
@app.function_name("NAME")
def tick(timer: func.TimerRequest) -> None:
    logging.info("tick past_due=%s", timer.past_due)
"""

SWITCHED_OFF = """
@app.timer_trigger(schedule="* * * * * *", arg_name="timer")
def silent(timer: func.TimerRequest) -> None:
    logging.info("silence is broken")

@app.route(route="unheard")
def unheard(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("unheard")
"""

FAILING = """
@app.timer_trigger(schedule="0 0 0 1 1 *", arg_name="timer", run_on_startup=True)
@app.function_name("NAME")
@app.retry(strategy="fixed_delay", max_retry_count="2", delay_interval="00:00:00")
def fails(timer: func.TimerRequest, context: func.Context) -> None:
    retry = context.retry_context
    logging.info("try %d of %d in <%s>", retry.retry_count, retry.max_retry_count, context.invocation_id)
    raise ValueError("planted")
"""


def unique(functions: str) -> str:
    """The same functions under a name that no other test's timer has: they share one Azurite."""
    return functions.replace("NAME", f"timer_{uuid.uuid4().hex}")


def test_a_timer_runs_on_its_schedule(tmp_path: Path, azurite: str) -> None:
    """Every second, again and again, and not too late."""
    with serving(write_app(tmp_path / "app", unique(EVERY_SECOND)), {"AzureWebJobsStorage": azurite}) as app:
        wait_until(lambda: app.program.output.count("tick past_due=False") >= 3, "three ticks")


def test_a_function_that_is_disabled_is_passed_over(tmp_path: Path, azurite: str) -> None:
    """By the setting that Azure has for it; the others run. An HTTP function is not found then."""
    app_folder = write_app(tmp_path / "app", unique(EVERY_SECOND) + SWITCHED_OFF)
    disabled = {"AzureWebJobs.silent.Disabled": "true", "AzureWebJobs.unheard.Disabled": "1"}
    with serving(app_folder, {"AzureWebJobsStorage": azurite, **disabled}) as app:
        wait_until(lambda: app.program.output.count("tick past_due") >= 2, "two ticks of the other timer")
        assert "silence" not in app.program.output
        assert "Disabled by their settings: silent, unheard" in app.program.output
        assert requests.get(f"{app.url}/api/unheard", timeout=10).status_code == 404


def test_a_tick_that_was_missed_is_made_up_for(tmp_path: Path, azurite: str) -> None:
    """A host that starts after the next due time runs the timer at once and says that it is late."""
    settings = {"AzureWebJobsStorage": azurite}
    app_folder = write_app(tmp_path / "app", unique(EVERY_SECOND))
    with serving(app_folder, settings) as app:
        wait_until(lambda: "tick" in app.program.output, "the first tick")
    noted = time.monotonic()
    wait_until(lambda: time.monotonic() - noted > 2.5, "more than one tick is missed")
    with serving(app_folder, settings) as app:
        wait_until(lambda: "tick" in app.program.output, "a tick after the restart")
        assert app.program.output.partition("tick ")[2].startswith("past_due=True")


def test_a_failing_timer_is_retried_as_its_policy_says(tmp_path: Path, azurite: str) -> None:
    """Two retries after the first try, then it is given up until the next tick."""
    with serving(write_app(tmp_path / "app", unique(FAILING)), {"AzureWebJobsStorage": azurite}) as app:
        wait_until(lambda: app.program.output.count("Failed timer_") == 3, "three failures")
        assert [f"try {count} of 2" in app.program.output for count in range(4)] == [True, True, True, False]
        assert len(set(re.findall(r"in <(.+?)>", app.program.output))) == 1


def test_of_two_hosts_only_one_runs_a_timer(tmp_path: Path, azurite: str) -> None:
    """They share the timer's lease."""
    functions = unique(EVERY_SECOND)
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    first, second = (write_app(folder / "app", functions) for folder in folders)
    settings = {"AzureWebJobsStorage": azurite}
    with serving(first, settings) as holder:
        wait_until(lambda: "tick" in holder.program.output, "the first host ticks")
        with serving(second, settings) as other:
            ticks = holder.program.output.count("tick")
            wait_until(lambda: holder.program.output.count("tick") > ticks + 2, "the first host goes on")
            assert "tick" not in other.program.output


def test_a_timer_whose_lease_is_lost_goes_on(tmp_path: Path, azurite: str) -> None:
    """The host lives, and takes the lease again: another host, or a busy machine, may have made it lapse."""
    functions = unique(EVERY_SECOND)
    name = functions.partition('function_name("')[2].partition('"')[0]
    status = BlobClient.from_connection_string(azurite, STATUS_CONTAINER, f"timers/{name}/status")
    with serving(write_app(tmp_path / "app", functions), {"AzureWebJobsStorage": azurite}) as app:
        wait_until(lambda: "tick" in app.program.output, "the first tick")
        with status:
            BlobLeaseClient(status).break_lease(0)
        wait_until(lambda: "starts again" in app.program.output, "the loss is noticed")
        ticks = app.program.output.count("tick past_due")
        wait_until(lambda: app.program.output.count("tick past_due") > ticks, "the next tick")


def test_a_tick_that_comes_late_is_not_past_due(tmp_path: Path, azurite: str) -> None:
    """Only one that was missed while no host was up is."""
    functions = """
    @app.route(route="block")
    async def block(req: func.HttpRequest) -> func.HttpResponse:
        time.sleep(2.5)  # holds up the whole host
        return func.HttpResponse("done")
    """
    folder = write_app(tmp_path / "app", unique(EVERY_SECOND) + textwrap.dedent(functions))
    with serving(folder, {"AzureWebJobsStorage": azurite}) as app:
        wait_until(lambda: "tick" in app.program.output, "the first tick")
        assert requests.get(f"{app.url}/api/block", timeout=10).text == "done"
        ticks = app.program.output.count("tick past_due")
        wait_until(lambda: app.program.output.count("tick past_due") > ticks, "the next tick")
        assert "past_due=True" not in app.program.output
