"""What this tree stores, written once for all tests that look at it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.stored.snapshot import Rows, parsed
from tests.stored.write_snapshot import new_snapshot


@pytest.fixture(scope="package")
def written() -> dict[str, Any]:
    """What an app of this tree stores."""
    return parsed(asyncio.run(new_snapshot()))


@pytest.fixture(scope="package")
def tables(written: dict[str, Any]) -> dict[str, Rows]:
    """The tables of its first account."""
    found: dict[str, Rows] = written["accounts"]["INDEX_STORAGE"]
    return found
