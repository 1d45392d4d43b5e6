"""The hooks around a deployment: the key of page tokens is made once, and the app is ready before azd says so."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from shared.definitions.files import write_compiled
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEEP = "infra/hooks/keep_page_token_key.py"
AFTER = "infra/hooks/after_deploy.py"
FAKE_AZD = """#!/bin/sh
echo "$@" >> "$AZD_CALLS"
exit $AZD_EXIT
"""


def run(
    hook: str, environment: dict[str, str], *arguments: str, project: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """A hook as azd runs it: with any Python, in the folder of the project, with the values of the environment."""
    command = [sys.executable, "-I", str(project / hook), *arguments]
    full = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run(command, cwd=project, env=full, capture_output=True, text=True, check=False)


@pytest.fixture
def azd(tmp_path: Path) -> dict[str, str]:
    """An environment whose `azd` only writes down how it is called."""
    program = tmp_path / "azd"
    program.write_text(FAKE_AZD)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "AZD_CALLS": str(tmp_path / "calls"), "AZD_EXIT": "0"}


def calls(azd: dict[str, str]) -> list[list[str]]:
    """The arguments of every call."""
    try:
        with open(azd["AZD_CALLS"], encoding="utf-8") as file:  # noqa: PTH123
            return [line.split() for line in file]
    except FileNotFoundError:
        return []


def test_a_key_is_made_for_an_environment_that_has_none(azd: dict[str, str]) -> None:
    """A long one, another each time, and never shown."""
    done = [run(KEEP, {**azd, "AZURE_ENV_NAME": "demo"}) for _ in range(2)]
    assert [one.returncode for one in done] == [0, 0]
    first, second = calls(azd)
    assert [*first[:3], *first[4:]] == ["env", "set", "PAGE_TOKEN_KEY", "--environment", "demo"]
    assert len(first[3]) >= 40
    assert first[3] != second[3]
    assert first[3] not in done[0].stdout + done[0].stderr


@pytest.mark.parametrize("given", [{"AZURE_ENV_NAME": "demo", "PAGE_TOKEN_KEY": "mine"}, {}], ids=["has one", "no azd"])
def test_a_key_that_is_there_stays(given: dict[str, str], azd: dict[str, str]) -> None:
    """Also nothing is made outside azd."""
    assert run(KEEP, {**azd, **given}).returncode == 0
    assert calls(azd) == []


def test_a_key_that_azd_does_not_take_ends_the_deployment(azd: dict[str, str]) -> None:
    """Otherwise each deployment would end the pages that callers have open."""
    done = run(KEEP, {**azd, "AZURE_ENV_NAME": "demo", "AZD_EXIT": "1"})
    assert done.returncode == 1
    assert "azd env set" in done.stderr


@contextmanager
def app(*statuses: int) -> Iterator[str]:
    """The address of an app that answers with these statuses, one after another, the last one for ever."""
    waiting = list(statuses)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            self.send_response(status if self.path == "/api/health/ready" else 404)
            self.end_headers()
            self.wfile.write(json.dumps({"detail": "No role."}).encode())

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that was packaged, with a hook that does not wait long between two questions."""
    hook = tmp_path / AFTER
    hook.parent.mkdir(parents=True)
    hook.write_text((ROOT / AFTER).read_text().replace("POLL_SECONDS = 5.0", "POLL_SECONDS = 0.01"))
    shutil.copy(ROOT / "indexes.yaml", tmp_path)
    write_compiled(tmp_path / "indexes.yaml")
    return tmp_path


def test_the_hook_waits_until_the_app_is_ready_and_says_where_to_begin(project: Path) -> None:
    """A first lookup that only lacks values, the console, and how to get a key."""
    with app(503, 503, 200) as url:
        named = {"FUNCTION_APP_URL": url, "FUNCTION_APP_NAME": "func-1", "AZURE_RESOURCE_GROUP": "rg-demo"}
        done = run(AFTER, named, project=project)
    assert done.returncode == 0, done.stderr
    assert f"{url}/api/indexes/customers-by-town/entries?town=..." in done.stdout
    assert f"{url}/api/console" in done.stdout
    of_app = "--resource-group rg-demo --name func-1"
    assert f"az functionapp keys list {of_app} --query functionKeys.default --output tsv\n" in done.stdout


def test_the_hook_says_how_to_get_a_token_where_keys_open_nothing(project: Path) -> None:
    """With Entra ID, a function key is no answer to who calls."""
    with app(200) as url:
        done = run(AFTER, {"FUNCTION_APP_URL": url, "ENTRA_CLIENT_ID": "my-client"}, project=project)
    assert "az account get-access-token --resource api://my-client --query accessToken --output tsv\n" in done.stdout
    assert 'curl -H "Authorization: Bearer TOKEN"' in done.stdout
    assert "key" not in done.stdout


def test_the_hook_says_why_an_app_does_not_become_ready(project: Path) -> None:
    """And fails: the deployment is not done."""
    with app(503) as url:
        done = run(AFTER, {"FUNCTION_APP_URL": url}, "--seconds", "0.05", project=project)
    assert done.returncode == 1
    assert '503 {"detail": "No role."}' in done.stderr


@pytest.mark.parametrize("closed_by", [{"PRIVATE_APP": "true"}, {"ALLOWED_ADDRESSES": '["203.0.113.0/24"]'}])
def test_the_hook_does_not_wait_for_an_app_that_takes_no_calls_from_here(
    closed_by: dict[str, str], project: Path
) -> None:
    """The deployment is done; someone who may call has to ask."""
    with app(403) as url:
        done = run(AFTER, {"FUNCTION_APP_URL": url, **closed_by}, project=project)
    assert done.returncode == 0
    assert f"Ask {url}/api/health/ready from one that may call." in done.stdout


def test_the_hook_needs_the_address_of_the_app() -> None:
    """An output of the templates."""
    done = run(AFTER, {})
    assert done.returncode == 1
    assert "FUNCTION_APP_URL is not set" in done.stderr


def test_the_hook_lists_indexes_when_it_does_not_know_them(project: Path) -> None:
    """Without compiled definitions."""
    (project / "indexes.compiled.json").unlink()
    with app(200) as url:
        done = run(AFTER, {"FUNCTION_APP_URL": url}, project=project)
    assert f"'{url}/api/indexes'" in done.stdout
