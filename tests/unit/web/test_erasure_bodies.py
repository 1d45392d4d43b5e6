"""A fact to erase is named by a partition key that a fact can have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from shared.errors import LifecycleRefusedError
from shared.web.api.erasures import ErasureApi

if TYPE_CHECKING:
    from shared.erasure.eraser import Eraser


@pytest.mark.parametrize("value", [[["nested"]], [{"a": 1}], {"a": 1}, "\ud800"])
async def test_what_cannot_be_a_partition_key_is_refused(value: Any) -> None:
    """Before anything is read."""
    body = json.dumps({"source": "orders", "id": "1", "partitionKey": value}).encode()
    with pytest.raises(LifecycleRefusedError, match="partitionKey"):
        await ErasureApi(cast("Eraser", None)).erase(body, "/api/erasures")
