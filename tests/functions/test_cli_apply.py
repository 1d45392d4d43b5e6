"""`index-tables apply` beside an app that may have other definitions than the file, as before a deployment."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from cli.main import main
from tests.functions.apps import RunningApp, serving
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def app(lookup_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """An app without workers: no definition of it is registered, so that there is nothing to build."""
    with serving(ROOT, lookup_settings, "--http-only", log_folder=tmp_path_factory.mktemp("app")) as running:
        yield running


@pytest.fixture
def changed(lookup_settings: dict[str, str], tmp_path: Path) -> Path:
    """A file that says something else than what the app runs."""
    file = tmp_path / "indexes.yaml"
    shutil.copy(lookup_settings["INDEX_DEFINITIONS"], file)
    file.write_text(file.read_text().replace("partition: town", "partition: town\n    shards: 3", 1))
    return file


def test_an_app_with_other_definitions_is_told(
    app: RunningApp, changed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it has is applied: that may be a deployment that was made elsewhere."""
    assert main(["apply", "--url", app.url, "--definitions", str(changed)]) == 0
    told = capsys.readouterr().err
    assert f"the app runs other definitions than {changed}" in told
    assert "they differ in customers-by-town\n" in told
    assert "deploy the file" in told


def test_an_app_with_the_same_definitions_is_not_warned_of(
    app: RunningApp, lookup_settings: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Also when no worker has entered them yet."""
    assert main(["apply", "--url", app.url, "--definitions", lookup_settings["INDEX_DEFINITIONS"]]) == 0
    assert "other definitions" not in capsys.readouterr().err


def test_a_deployment_can_be_waited_for(app: RunningApp, changed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not for ever: then nothing was applied, and the exit code says it."""
    command = ["apply", "customers-by-town", "--url", app.url, "--definitions", str(changed), "--wait", "0.2"]
    assert main(command) == 1
    assert "nothing was applied: after 0.2 s the app runs other definitions." in capsys.readouterr().err


def test_a_wrong_file_is_not_applied(app: RunningApp, changed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its faults are printed as `validate` does."""
    changed.write_text("version: 2\n")
    assert main(["apply", "--url", app.url, "--definitions", str(changed)]) == 1
    out, told = capsys.readouterr()
    assert "indexes.yaml:1: fault: version" in out
    assert "nothing was applied" in told


def test_without_a_file_the_app_alone_is_asked(
    app: RunningApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As from a machine that has no checkout."""
    monkeypatch.chdir(tmp_path)
    assert main(["apply", "--url", app.url]) == 0
    assert "other definitions" not in capsys.readouterr().err
