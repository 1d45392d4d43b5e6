"""The JavaScript SDK: its suite runs with node against the same account."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support import missing_service

if TYPE_CHECKING:
    from tests.contract.cosmos.conftest import Account

SUITE = Path(__file__).parents[1] / "js"


@pytest.mark.timeout(300)
def test_the_javascript_suite_passes(account: Account) -> None:
    """Every test of tests/contract/js; install its packages with `npm ci` there."""
    node = shutil.which("node")
    if node is None or not (SUITE / "node_modules" / "@azure" / "cosmos").is_dir():
        missing_service("node or @azure/cosmos is missing: run `npm ci` in tests/contract/js")
    environment = {
        **os.environ,
        "COSMOS_ENDPOINT": account.endpoint,
        "COSMOS_KEY": account.key,
        "COSMOS_IS_LOCAL": "true" if account.local else "false",
    }
    command = [str(node), "--test", "cosmos.test.js"]
    done = subprocess.run(command, cwd=SUITE, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
