"""Runs the JavaScript suite of the contract, which lives beside its package.json in tests/contract/js."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support import missing_service

if TYPE_CHECKING:
    from tests.contract.eventhubs.conftest import HubUnderTest

FOLDER = Path(__file__).parent.parent / "js"
SUITE_SECONDS = 90


def test_the_javascript_sdk_keeps_the_contract(hub: HubUnderTest) -> None:
    """@azure/event-hubs sends, receives, starts anywhere, steals links and reports errors."""
    node = shutil.which("node")
    if node is None or not (FOLDER / "node_modules" / "@azure" / "event-hubs").is_dir():
        missing_service("@azure/event-hubs is not installed: run `npm ci` in tests/contract/js")
    place = {"EVENTHUBS_CONTRACT_CONNECTION_STRING": hub.connection_string, "EVENTHUBS_CONTRACT_HUB": hub.name}
    ended = subprocess.run(
        [str(node), "--test-timeout=30000", "eventhubs.test.js"],
        cwd=FOLDER,
        env={**os.environ, **place},
        capture_output=True,
        text=True,
        timeout=SUITE_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
