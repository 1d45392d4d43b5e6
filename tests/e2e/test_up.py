"""`python -m local up`: one command runs everything, and nothing is left behind or lost when it ends."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import socket
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import requests
from azure.data.tables import TableClient

from cli.main import main
from tests.e2e import runs
from tests.support import ctrl_c_at_import, is_running, local_command, wait_until

if TYPE_CHECKING:
    from pathlib import Path

# Samples take time, and what applies them would still be waiting for storage that is gone.
BARE = ("--no-samples",)


def is_alive(base: str) -> bool:
    """Whether the function app answers."""
    try:
        return requests.get(f"{base}/api/health/live", timeout=5).ok
    except requests.ConnectionError:
        return False


def write_row(found: dict[str, Any], row: str) -> None:
    """A row in a table of the run's storage."""
    with TableClient.from_connection_string(found["storage"]["connectionString"], "Kept") as table:
        if row == "first":
            table.create_table()
        table.create_entity({"PartitionKey": "p", "RowKey": row})


def rows(found: dict[str, Any]) -> list[str]:
    """The rows that are there."""
    with TableClient.from_connection_string(found["storage"]["connectionString"], "Kept") as table:
        return [str(entity["RowKey"]) for entity in table.list_entities()]


def wait_until_gone(pids: dict[str, int]) -> None:
    """No child of the run is left."""
    wait_until(lambda: not any(is_running(pid) for pid in pids.values()), f"all of {pids} have ended")


def test_the_app_is_ready_when_the_endpoints_are_published(tmp_path: Path) -> None:
    """A process that reads the file may send requests at once."""
    with runs.ready(tmp_path / "data", *BARE) as (program, found):
        assert requests.get(f"{found['http']}/api/health/ready", timeout=10).json() == {"status": "ready"}
        assert found["pid"] == program.process.pid
        assert all(is_running(pid) for pid in found["pids"].values())


def test_every_address_that_a_run_prints_answers(tmp_path: Path) -> None:
    """Those of the console and the docs in a browser, of health, and the lookup to copy."""
    with runs.ready(tmp_path / "data") as (program, _):
        wait_until(lambda: "Ctrl-C stops it." in program.output, "all is said")
        addresses = re.findall(r"http://127\.0\.0\.1:\d+/api/[^\s']+", program.output)
        assert len(addresses) == 4
        assert {requests.get(address, timeout=20).status_code for address in addresses} == {200}


def test_a_host_that_is_killed_is_restarted_and_serves_again(tmp_path: Path) -> None:
    """On the same address, with its new pid published."""
    with runs.ready(tmp_path / "data", *BARE) as (program, found):
        old_pid = found["pids"]["host"]
        os.kill(old_pid, signal.SIGKILL)
        wait_until(lambda: "host is back" in program.output, "a new host")
        assert runs.endpoints(tmp_path / "data")["pids"]["host"] != old_pid
        assert is_alive(found["http"])
        assert "host was killed by SIGKILL; restarting it (1 of at most 5 in a minute)" in program.output


def test_sigterm_stops_everything_in_order(tmp_path: Path) -> None:
    """No process and no endpoints are left, and the exit code is good."""
    with runs.ready(tmp_path / "data", *BARE) as (program, found):
        program.process.send_signal(signal.SIGTERM)
        assert program.wait() == 0
        wait_until_gone(found["pids"])
        assert not runs.endpoints(tmp_path / "data")


@pytest.mark.parametrize("module", ["local.run.commands", "local.run.up"])
def test_ctrl_c_while_it_is_loading_ends_it(tmp_path: Path, module: str) -> None:
    """Before anything listens, with the same words and exit code as later."""
    ended = ctrl_c_at_import(module, "local", "up", "--data", str(tmp_path / "data"), *BARE)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.removeprefix("local: stopping\n") == "local: stopped\n"


def test_ctrl_c_while_it_starts_ends_it(tmp_path: Path) -> None:
    """What has started stops, nothing else starts, and the next run begins at once."""
    data = tmp_path / "data"
    with runs.up(data) as program:
        wait_until(lambda: " listens on " in program.output, "a first service")
        program.process.send_signal(signal.SIGINT)
        assert program.wait() == 0
        assert program.output.endswith("local: stopping\nlocal: stopped\n")
        assert "host listens" not in program.output
    with (data / "lock").open() as lock:  # every child inherits it
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_samples_are_brought_once(tmp_path: Path) -> None:
    """A run that finds them there does not speak of them."""
    told = "140 sample facts written, 60 sent as events"
    with runs.up(tmp_path / "data") as program:
        wait_until(lambda: told in program.output, "samples")
        program.process.send_signal(signal.SIGTERM)
        assert program.wait() == 0
    with runs.ready(tmp_path / "data") as (program, _):
        assert "sample facts" not in program.output


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_the_last_writes_are_there_at_the_next_start(tmp_path: Path, ending: signal.Signals) -> None:
    """However the supervisor ends: the children notice, storage saves itself, and the next run waits for that."""
    with runs.ready(tmp_path / "data", *BARE) as (program, found):
        write_row(found, "first")
        program.process.send_signal(ending)
        program.wait()
    with runs.ready(tmp_path / "data", *BARE) as (_, again):
        assert rows(again) == ["first"]
        write_row(again, "second")
    wait_until_gone({**found["pids"], **{f"new {name}": pid for name, pid in again["pids"].items()}})


def test_an_orphaned_run_ends_by_itself(tmp_path: Path) -> None:
    """A supervisor that is killed takes its children with it."""
    with runs.ready(tmp_path / "data", *BARE) as (program, found):
        program.process.kill()
        program.wait()
        wait_until_gone(found["pids"])


def test_storage_that_dies_stops_the_whole(tmp_path: Path) -> None:
    """Without it nothing works; the reason is in the last lines."""
    with runs.ready(tmp_path / "data", *BARE) as (program, found):
        os.kill(found["pids"]["azurite"], signal.SIGKILL)
        assert program.wait() == 1
        assert "error: azurite was killed by SIGKILL. Its last lines:" in program.output
        wait_until_gone(found["pids"])


def test_taken_ports_are_replaced_by_free_ones(tmp_path: Path) -> None:
    """Two runs in two folders live side by side, and the second says where it listens."""
    with runs.ready(tmp_path / "one", *BARE) as (_, first), runs.ready(tmp_path / "two", *BARE) as (_, second):
        assert first["http"] != second["http"]
        assert is_alive(first["http"])
        assert is_alive(second["http"])


def test_a_wanted_port_that_is_taken_is_refused(tmp_path: Path) -> None:
    """The user asked for that one, so another is no answer."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with runs.up(tmp_path / "data", "--http-port", port) as program:
            assert program.wait() == 1
            assert f"error: Port {port} is taken" in program.output
            assert "listens on" not in program.output, "nothing has been started"


def test_keys_are_checked_with_auth(tmp_path: Path) -> None:
    """The keys are published with the endpoints."""
    with runs.ready(tmp_path / "data", "--auth", *BARE) as (_, found):
        assert sorted(found["keys"]) == ["admin", "function"]
        assert is_alive(found["http"])  # health is for everyone


def test_tokens_are_checked_with_auth_entra(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that `index-tables token` prints for this run."""
    data = tmp_path / "data"
    with runs.ready(data, "--auth", "entra", *BARE) as (_, found):

        def status(*options: str) -> int:
            assert main(["token", "--data", str(data), *options]) == 0
            headers = {"Authorization": f"Bearer {capsys.readouterr().out.strip()}"}
            return requests.get(f"{found['http']}/api/indexes", headers=headers, timeout=20).status_code

        assert is_alive(found["http"])  # health is for everyone
        assert requests.get(f"{found['http']}/api/indexes", timeout=20).status_code == 401
        assert status("--role", "Index.Read") == 200
        assert status("--role", "Other") == 403
        assert status("--role", "Index.Read", "--expires", "-1") == 401
        assert status("--role", "Index.Read", "--claim", "aud=another") == 401


def test_ready_says_why_not_when_storage_does_not_answer(tmp_path: Path) -> None:
    """A problem document with status 503."""
    with runs.ready(tmp_path / "data", *BARE) as (_, found):
        os.kill(found["pids"]["azurite"], signal.SIGSTOP)
        try:
            answer = requests.get(f"{found['http']}/api/health/ready", timeout=20)
        finally:
            os.kill(found["pids"]["azurite"], signal.SIGCONT)
    assert (answer.status_code, answer.headers["Content-Type"]) == (503, "application/problem+json")
    assert answer.json()["code"] == answer.headers["x-ms-error-code"] == "StorageUnreachable"


def test_a_definitions_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    """Before anything starts."""
    with runs.up(tmp_path / "data", "--definitions", str(tmp_path / "none.yaml")) as program:
        assert program.wait() == 1
        assert "none.yaml is not a file" in program.output


def test_core_tools_that_are_missing_are_named(tmp_path: Path) -> None:
    """`--host func` needs `func` on PATH."""
    with runs.up(tmp_path / "data", "--host", "func") as program:
        assert program.wait() == 1
        assert "func is not on PATH" in program.output
        assert "listens on" not in program.output, "nothing has been started"


def test_the_demo_shows_real_answers_and_ends() -> None:
    """What `make demo` prints."""
    ended = subprocess.run(local_command("demo"), capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert '"status": "ready"' in ended.stdout
    assert "MissingPartitionPart" in ended.stdout  # the last stage of the tour
    assert ended.stdout.index("    partition: town") < ended.stdout.index('{"town": "Redmond"')
    assert ended.stdout.index("MissingPartitionPart") < ended.stdout.index("# What to try next")


def test_a_port_that_is_none_is_refused(tmp_path: Path) -> None:
    """Wrong usage: exit code 2 and what to give."""
    with runs.up(tmp_path / "data", "--http-port", "99999") as program:
        assert program.wait() == 2
        assert "give a number from 1 to 65535" in program.output
