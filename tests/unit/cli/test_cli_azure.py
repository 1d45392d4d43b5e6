"""Commands with --azure: settings as the app has them, and the signed-in user; a failure is one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cli.main import main
from local.process import ports

if TYPE_CHECKING:
    from pathlib import Path

LOAD, TAIL = ("load", "FILE", "--source", "customers"), ("tail", "--source", "customers")
SEND, RECEIVE = ("load", "FILE", "--source", "orders", "--events"), ("tail", "--source", "orders")


@pytest.fixture(autouse=True)
def _nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set, and nobody is signed in."""
    for name in ("COSMOS", "EVENTHUB", "IDENTITY_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "AzureCliCredential")
    monkeypatch.setenv("PATH", str(tmp_path))


def called(command: tuple[str, ...], tmp_path: Path) -> int:
    """The exit code of a command with a file of one good fact."""
    file = tmp_path / "facts.jsonl"
    file.write_text('{"id": "1", "customerId": "c", "customer": {"id": "c"}, "revision": 1}')
    return main([str(file) if word == "FILE" else word for word in command] + ["--azure"])


@pytest.mark.parametrize(
    ("command", "settings", "reason"),
    [
        (LOAD, {}, "set COSMOS to a connection string, or COSMOS__accountEndpoint"),
        (TAIL, {"COSMOS": "half"}, "COSMOS is not a connection string, it has no AccountEndpoint and no AccountKey"),
        (LOAD, {"COSMOS__accountEndpoint": "shop"}, "tokens need an https address"),
        (SEND, {}, "set EVENTHUB to a connection string, or EVENTHUB__fullyQualifiedNamespace"),
        (RECEIVE, {"EVENTHUB": "Endpoint=sb://x/"}, "EVENTHUB is not a connection string, it has no SharedAccessKey"),
        (LOAD, {"COSMOS__accountEndpoint": "https://127.0.0.1:PORT"}, "Nobody is signed in to Azure here"),
        (TAIL, {"COSMOS__accountEndpoint": "https://127.0.0.1:PORT"}, "Nobody is signed in to Azure here"),
        (SEND, {"EVENTHUB__fullyQualifiedNamespace": "127.0.0.1:PORT"}, "Not all facts were sent to the hub orders"),
        (RECEIVE, {"EVENTHUB__fullyQualifiedNamespace": "127.0.0.1:PORT"}, "cannot be followed"),
    ],
)
def test_what_is_missing_is_told_in_one_line(
    command: tuple[str, ...],
    settings: dict[str, str],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 1, and no trace of the SDK's own words."""
    (port,) = ports.any_free(1)
    for name, value in settings.items():
        monkeypatch.setenv(name, value.replace("PORT", str(port)))
    assert called(command, tmp_path) == 1
    output = capsys.readouterr()
    assert reason in output.err
    assert (output.out, output.err.count("\n")) == ("", 1)
