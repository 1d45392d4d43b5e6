"""`index-tables token` prints what a local run with `--auth entra` takes."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import jwt
import pytest

from cli.main import main
from local.host.http import sign_in

if TYPE_CHECKING:
    from pathlib import Path

KEY = "k" * 48


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The data folder of a run that takes tokens."""
    of_tokens = {"key": KEY, "audience": sign_in.AUDIENCE, "issuer": sign_in.ISSUER}
    (tmp_path / "endpoints.json").write_text(json.dumps({"http": "http://127.0.0.1:1", "signIn": of_tokens}))
    return tmp_path


def claims_of(run: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    """What the token says, as the local host checks it."""
    assert main(["token", "--data", str(run), *options]) == 0
    token = capsys.readouterr().out.strip()
    claims: dict[str, Any] = jwt.decode(
        token, KEY, algorithms=[sign_in.ALGORITHM], audience=sign_in.AUDIENCE, issuer=sign_in.ISSUER
    )
    return claims


def test_a_token_has_its_roles_and_claims_and_ends(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A claim that is repeated has several values, as groups have."""
    options = ["--role", "A", "--role", "B", "--claim", "tid=x=y", "--claim", "groups=1", "--claim", "groups=2"]
    claims = claims_of(run, capsys, *options, "--expires", "60")
    assert (claims["roles"], claims["tid"], claims["groups"]) == (["A", "B"], "x=y", ["1", "2"])
    assert 0 < claims["exp"] - time.time() <= 61


def test_a_token_has_no_role_unless_asked_for(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The least that it may open."""
    assert claims_of(run, capsys)["roles"] == []


@pytest.mark.parametrize("claim", ["tid", "=x"])
def test_a_claim_without_a_name_or_a_value_is_wrong_usage(
    claim: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what to write."""
    assert main(["token", "--data", str(run), "--claim", claim]) == 2
    assert "is not NAME=VALUE" in capsys.readouterr().err


def test_a_run_without_tokens_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And how to start it."""
    (run / "endpoints.json").write_text(json.dumps({"http": "http://127.0.0.1:1"}))
    assert main(["token", "--data", str(run)]) == 2
    assert "--auth entra" in capsys.readouterr().err
