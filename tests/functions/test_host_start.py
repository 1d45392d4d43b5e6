"""The host says what is wrong with an app before it serves anything, and ends functions that run too long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import requests

from local.process import ports
from tests.functions.apps import serving, started, write_app
from tests.support import ROOT, listens, wait_until

if TYPE_CHECKING:
    from pathlib import Path

HTTP_FUNCTION = """
@app.route(route="x")
def x(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("x")
"""

TIMER = """
@app.timer_trigger(schedule="%SCHEDULE%", arg_name="timer")
def tick(timer: func.TimerRequest) -> None:
    pass
"""

FEED = """
@app.cosmos_db_trigger(arg_name="documents", connection="COSMOS", database_name="d", container_name="c")
def feed(documents: func.DocumentList) -> None:
    pass
"""

UNSUPPORTED_TRIGGER = """
@app.blob_trigger(arg_name="blob", path="files/{name}", connection="AzureWebJobsStorage")
def on_blob(blob: func.InputStream) -> None:
    pass
"""

UNSUPPORTED_OUTPUT = """
@app.route(route="x")
@app.queue_output(arg_name="out", queue_name="jobs", connection="AzureWebJobsStorage")
def x(req: func.HttpRequest, out: func.Out[str]) -> func.HttpResponse:
    return func.HttpResponse("x")
"""


def refusal(app: Path, settings: dict[str, str] | None = None) -> str:
    """What the host prints when it does not start."""
    (port,) = ports.any_free(1)
    with started(app, app.parent / "host.log", settings, "--port", str(port)) as program:
        assert program.wait() == 1, program.output
        return program.output.strip()


def test_broken_json_is_named_with_its_place(tmp_path: Path) -> None:
    """File, line, column and reason."""
    app = write_app(tmp_path / "app", HTTP_FUNCTION)
    (app / "host.json").write_text('{\n  "version": "2.0",\n  oops\n}')
    message = refusal(app)
    assert message.startswith("error: ")
    assert "host.json, line 3, column 3" in message


@pytest.mark.parametrize(
    ("host_json", "reason"),
    [
        ({"version": "1.0"}, '"version" is not "2.0"'),
        ({"version": "2.0", "functionTimeout": "soon"}, "functionTimeout: 'soon' is not a time span"),
        ({"version": "2.0", "extensions": []}, '"extensions" is not an object'),
    ],
)
def test_a_wrong_host_json_is_explained(tmp_path: Path, host_json: dict[str, object], reason: str) -> None:
    """Well-formed JSON with the wrong content."""
    assert reason in refusal(write_app(tmp_path / "app", HTTP_FUNCTION, host_json))


def test_a_missing_host_json_is_explained(tmp_path: Path) -> None:
    """The folder is not a function app."""
    app = write_app(tmp_path / "app", HTTP_FUNCTION)
    (app / "host.json").unlink()
    assert "host.json is missing" in refusal(app)


def test_a_syntax_error_is_named_with_its_place(tmp_path: Path) -> None:
    """File, line and reason, in one sentence and without a traceback of ours."""
    app = write_app(tmp_path / "app", "def broken(:\n    pass\n")
    message = refusal(app)
    assert 'function_app.py", line 6' in message
    assert "SyntaxError" in message
    assert "Traceback" not in message


def test_an_exception_while_loading_is_named_with_its_place(tmp_path: Path) -> None:
    """The last line of the app itself, not of the libraries below it."""
    message = refusal(write_app(tmp_path / "app", "answer = 1 / 0\n"))
    assert 'function_app.py", line 6' in message
    assert "ZeroDivisionError" in message


def test_a_schedule_that_cannot_be_read_is_explained(tmp_path: Path, azurite: str) -> None:
    """The field and what may stand there."""
    message = refusal(write_app(tmp_path / "app", TIMER), {"AzureWebJobsStorage": azurite, "SCHEDULE": "0 99 * * * *"})
    assert "'99' as its minute" in message


def test_a_setting_that_is_missing_is_named(tmp_path: Path, azurite: str) -> None:
    """`%SCHEDULE%` refers to an app setting."""
    assert "no app setting SCHEDULE" in refusal(write_app(tmp_path / "app", TIMER), {"AzureWebJobsStorage": azurite})


def test_a_setting_of_ours_that_cannot_be_read_is_named(tmp_path: Path, azurite: str) -> None:
    """In one sentence: the expiry of leases is a number."""
    settings = {"AzureWebJobsStorage": azurite, "COSMOS": "AccountEndpoint=http://127.0.0.1:1/;AccountKey=a2V5;"}
    message = refusal(write_app(tmp_path / "app", FEED), {**settings, "LOCAL_LEASE_EXPIRY_SECONDS": "x"})
    assert "LOCAL_LEASE_EXPIRY_SECONDS is 'x': give a number of seconds above 0." in message
    assert "Traceback" not in message


@pytest.mark.parametrize(("functions", "name"), [(UNSUPPORTED_TRIGGER, "blobTrigger"), (UNSUPPORTED_OUTPUT, "queue")])
def test_a_binding_that_the_host_does_not_run_is_refused(tmp_path: Path, functions: str, name: str) -> None:
    """Better not to start than to leave a function silent."""
    assert name in refusal(write_app(tmp_path / "app", functions))


def test_a_taken_port_is_explained(tmp_path: Path) -> None:
    """The second host on one port says so and ends."""
    with serving(write_app(tmp_path / "app", HTTP_FUNCTION)) as app:
        port = app.url.rpartition(":")[2]
        with started(tmp_path / "app", tmp_path / "second.log", None, "--port", port) as second:
            assert second.wait() == 1
            assert f"Port {port} is taken" in second.output


def test_local_settings_are_read_and_the_environment_wins(tmp_path: Path) -> None:
    """As Core Tools do it."""
    functions = """
    @app.route(route="settings", auth_level=func.AuthLevel.ANONYMOUS)
    def settings(req: func.HttpRequest) -> func.HttpResponse:
        return func.HttpResponse(os.environ["FROM_FILE"] + " " + os.environ["FROM_BOTH"])
    """
    app = write_app(tmp_path / "app", functions)
    (app / "local.settings.json").write_text('{"Values": {"FROM_FILE": "file", "FROM_BOTH": "file"}}')
    with serving(app, {"FROM_BOTH": "environment"}) as running:
        assert requests.get(f"{running.url}/api/settings", timeout=10).text == "file environment"


@pytest.mark.parametrize("kind", ["async def", "def"])
def test_a_function_over_its_time_starts_the_worker_again(tmp_path: Path, kind: str) -> None:
    """As in Azure: the call fails, and what held its thread is gone. The host answers at the same address."""
    functions = f"""
    import asyncio, threading

    WORKER = os.urandom(8).hex()

    @app.route(route="worker")
    async def worker(req: func.HttpRequest) -> func.HttpResponse:
        return func.HttpResponse(WORKER)

    @app.route(route="slow")
    {kind} slow(req: func.HttpRequest) -> func.HttpResponse:
        {"await asyncio.Event().wait()" if kind.startswith("async") else "threading.Event().wait()"}
    """
    app = write_app(tmp_path / "app", functions, {"version": "2.0", "functionTimeout": "00:00:01"})
    with serving(app) as running:
        workers = [worker_of(running.url)]
        for _ in range(2):
            assert requests.get(f"{running.url}/api/slow", timeout=20).status_code == 500
            wait_until(lambda: worker_of(running.url) not in ("", *workers), "a new worker")
            workers.append(worker_of(running.url))
        assert running.program.process.poll() is None
        assert "slow ran longer than functionTimeout (1 s)" in running.program.output


def worker_of(url: str) -> str:
    """Which worker answers; none while the host starts."""
    try:
        return requests.get(f"{url}/api/worker", timeout=20).text
    except requests.ConnectionError:
        return ""


def test_the_host_ends_when_its_input_does(tmp_path: Path) -> None:
    """The process at the other end of the pipe is gone, so the host is not needed any more."""
    with serving(write_app(tmp_path / "app", HTTP_FUNCTION)) as app:
        assert app.program.process.stdin is not None
        app.program.process.stdin.close()
        assert app.program.wait() == 0


def test_the_project_itself_is_an_app(azurite: str, tmp_path: Path) -> None:
    """The real function app loads and answers."""
    (port,) = ports.any_free(1)
    settings = {"AzureWebJobsStorage": azurite, "INDEX_STORAGE": azurite}
    with started(ROOT, tmp_path / "host.log", settings, "--port", str(port), "--http-only") as program:
        wait_until(lambda: listens(port) or program.process.poll() is not None, "the host listens")
        assert requests.get(f"http://127.0.0.1:{port}/api/health/ready", timeout=10).json() == {"status": "ready"}
