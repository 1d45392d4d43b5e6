"""Batches: several operations on one partition key in one request, all or nothing.

The JavaScript SDK's bulk mode uses the same request without atomicity: each operation then stands alone and
names its own partition key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from local.emulators.cosmos.data.items import EtagConditions, ItemOutcome, WriteMode
from local.emulators.cosmos.data.ranges import last_lsn
from local.emulators.cosmos.data.scope import whole_key
from local.emulators.cosmos.errors import BadRequestError, CosmosError
from local.emulators.cosmos.exchange import Answer
from local.emulators.cosmos.routes.change_feed import position_headers
from local.emulators.cosmos.routes.charges import read_charge, write_charge

if TYPE_CHECKING:
    from local.emulators.cosmos.data.containers import Container
    from local.emulators.cosmos.data.partition_key import PartitionKey
    from local.emulators.cosmos.data.store import DocumentStore
    from local.emulators.cosmos.exchange import Call
    from local.emulators.cosmos.routes.item_writes import Writes

IS_BATCH = "x-ms-cosmos-is-batch-request"
_IS_ATOMIC = "x-ms-cosmos-batch-atomic"
MAX_OPERATIONS = 100
_GOES_ON = "x-ms-cosmos-batch-continue-on-error"
# The first byte of the binary form in which .NET sends batches.
_HYBRID_ROW = b"\x81"
_MODES: dict[str, WriteMode] = {"Create": "create", "Upsert": "upsert", "Replace": "replace"}
# The status of operations that failed only because another one of the batch did.
_FAILED_DEPENDENCY = 424


class _BatchFailedError(Exception):
    """Leaves the transaction, and with it everything that the batch did before."""

    def __init__(self, index: int, error: CosmosError) -> None:
        super().__init__(str(error))
        self.index = index
        self.error = error


@dataclass(frozen=True, slots=True)
class Batches:
    """Runs batches."""

    store: DocumentStore
    writes: Writes

    def run(self, call: Call, container: Container) -> Answer:
        if call.body[:1] == _HYBRID_ROW:
            raise BadRequestError(
                "The local Cosmos DB takes batches as JSON, not as HybridRow: from .NET, send one operation at a time."
            )
        operations = call.json()
        if not isinstance(operations, list):
            raise BadRequestError("A batch must be a list of operations.")
        if not operations:
            raise BadRequestError("Batch request has no operations.")
        if len(operations) > MAX_OPERATIONS:
            raise BadRequestError("Batch request has more operations than what is supported.")
        if call.is_set(_IS_ATOMIC):
            key = whole_key(call, container)
            results = self._atomic(container, key, operations)
            home = container.range_of(key.effective)
            position = position_headers(container, home.number, last_lsn(self.store, container.number, home))
        else:
            results, position = self._one_by_one(call, container, operations), {}
        if call.prefers_minimal:
            for operation, result in zip(operations, results, strict=True):
                if "resourceBody" in result and operation["operationType"] != "Read":
                    del result["resourceBody"]
        is_whole = all(result["statusCode"] < 400 for result in results)
        charge = sum(result["requestCharge"] for result in results)
        answer = Answer(200 if is_whole else 207, orjson.dumps(results))
        answer.headers["x-ms-request-charge"] = str(charge)
        answer.headers["x-ms-alt-content-path"] = container.path
        answer.headers.update(position)
        return answer

    def _atomic(self, container: Container, key: PartitionKey, operations: list[Any]) -> list[dict[str, Any]]:
        try:
            with self.writes.items.transaction(container, key):
                return [self._step(container, key, operation, index) for index, operation in enumerate(operations)]
        except _BatchFailedError as failed:
            return [
                _failure(failed.error) if index == failed.index else _dependent() for index in range(len(operations))
            ]

    def _step(self, container: Container, key: PartitionKey, operation: Any, index: int) -> dict[str, Any]:
        try:
            return _success(operation, self._apply(container, key, operation))
        except CosmosError as error:
            raise _BatchFailedError(index, error) from error

    def _one_by_one(self, call: Call, container: Container, operations: list[Any]) -> list[dict[str, Any]]:
        """Each operation stands alone; when the caller says so, those behind a failure are not tried."""
        results: list[dict[str, Any]] = []
        stops = call.headers.get(_GOES_ON, "true").lower() == "false"
        for operation in operations:
            has_failed = stops and results and results[-1]["statusCode"] >= 400
            results.append(_dependent() if has_failed else self._alone(call, container, operation))
        return results

    def _alone(self, call: Call, container: Container, operation: Any) -> dict[str, Any]:
        try:
            text = operation.get("partitionKey") if isinstance(operation, dict) else None
            key = container.partition_key.of_header(text) if isinstance(text, str) else whole_key(call, container)
            with self.store.transaction():
                return _success(operation, self._apply(container, key, operation))
        except CosmosError as error:
            return _failure(error)

    def _apply(self, container: Container, key: PartitionKey, operation: Any) -> ItemOutcome:
        if not isinstance(operation, dict):
            raise BadRequestError('An operation of a batch must be an object with "operationType".')
        kind, item_id, body = (
            operation.get("operationType"),
            operation.get("id"),
            operation.get("resourceBody"),
        )
        conditions = EtagConditions(operation.get("ifMatch"), operation.get("ifNoneMatch"))
        if kind in _MODES and (item_id is None or isinstance(item_id, str)):
            return self.writes.put(container, _MODES[kind], body, key, conditions, item_id)
        if not isinstance(item_id, str):
            raise BadRequestError(f'The batch operation {kind!r} needs an "id" that is a string.')
        if kind == "Patch":
            return self.writes.patch(container, key, item_id, body, conditions)
        if kind == "Delete":
            return self.writes.delete(container, key, item_id, conditions)
        if kind == "Read":
            return self.writes.read(container, key, item_id, conditions)
        raise BadRequestError(f"The batch operation {kind!r} is not known.")


def _success(operation: Any, outcome: ItemOutcome) -> dict[str, Any]:
    charge = read_charge if operation["operationType"] == "Read" else write_charge
    result: dict[str, Any] = {
        "statusCode": outcome.status,
        "requestCharge": charge(len(outcome.body)),
        "eTag": outcome.etag,
    }
    if outcome.body:
        result["resourceBody"] = orjson.Fragment(outcome.body)
    return result


def _failure(error: CosmosError) -> dict[str, Any]:
    return {
        "statusCode": error.status,
        "subStatusCode": error.substatus,
        "requestCharge": 1.0,
        "message": str(error),
    }


def _dependent() -> dict[str, Any]:
    return {"statusCode": _FAILED_DEPENDENCY, "requestCharge": 0.0}
