"""The refusals of the local Cosmos DB: each is one HTTP answer, with the service's own code and sub-status.

LocalAzureError
└── CosmosError                  the answer's status, code and sub-status
    ├── BadRequestError          400
    │   └── SqlError             400, with the place in the query
    ├── UnauthorizedError        401
    ├── NotFoundError            404
    ├── MethodNotAllowedError    405
    ├── ConflictError            409
    ├── GoneError                410
    ├── PreconditionFailedError  412
    ├── TooLargeError            413
    └── UnexpectedError          500, the server's own fault
"""

from __future__ import annotations

from typing import ClassVar

from local.process.errors import LocalAzureError

# Sub-statuses that the SDKs act upon.
PARTITION_KEY_MISMATCH = 1001
RANGE_GONE = 1002
OWNER_NOT_FOUND = 1003
CONTAINER_RECREATED = 1024


class CosmosError(LocalAzureError):
    """A request that is refused; its text becomes the answer's message."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "InternalServerError"

    def __init__(self, message: str, substatus: int = 0) -> None:
        super().__init__(message)
        self.substatus = substatus


class BadRequestError(CosmosError):
    """The request cannot be understood, or asks for what the local server does not do.

    Correct the request.
    """

    status = 400
    code = "BadRequest"


class SqlError(BadRequestError):
    """The query cannot be parsed or is outside the supported subset. Change it at the place that is named."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"Syntax error at position {position}: {message}")
        self.reason = message
        self.position = position


class UnauthorizedError(CosmosError):
    """The signature does not match the request. Use the server's key, and sign what is sent."""

    status = 401
    code = "Unauthorized"


class NotFoundError(CosmosError):
    """The database, container, item or path does not exist. Create it, or correct its name."""

    status = 404
    code = "NotFound"


class MethodNotAllowedError(CosmosError):
    """The path exists, but not with this verb. Use another verb."""

    status = 405
    code = "MethodNotAllowed"


class ConflictError(CosmosError):
    """The id is taken. Read or replace what is there, or choose another id."""

    status = 409
    code = "Conflict"


class GoneError(CosmosError):
    """The partition key range was split. Read the ranges again and continue with its children."""

    status = 410
    code = "Gone"


class PreconditionFailedError(CosmosError):
    """If-Match, If-None-Match or a patch condition does not hold. Read the item again, then decide."""

    status = 412
    code = "PreconditionFailed"


class TooLargeError(CosmosError):
    """The document or the batch is over 2 MB. Make it smaller."""

    status = 413
    code = "RequestEntityTooLarge"


class UnexpectedError(CosmosError):
    """A fault of the server itself. Read its log."""
