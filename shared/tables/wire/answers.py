"""What an answer of the Table service means: the error for each status and code.

Throttling, outages and half an answer are transient; what the service refuses it will refuse again. Only
a refusal to start work (429, ServerBusy) proves that nothing happened; after any other transient answer the
outcome is unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import orjson

from shared.errors import (
    RequestRefusedError,
    StorageError,
    StorageUnavailableError,
    TableMissingError,
    ThrottledError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.errors import FailureReason

BEING_DELETED: Final = "TableBeingDeleted"
_GONE: Final = frozenset({"TableNotFound", BEING_DELETED})
_BUSY: Final = frozenset({429, 503})
_TIMED_OUT: Final = "OperationTimedOut"
_BROKEN: Final = frozenset({408, 500, 502, 504})
# By code, not by status: a 404 of a proxy must not pass for a row that is not there.
_REASONS: Final[Mapping[str, FailureReason]] = {
    "ResourceNotFound": "missing",
    "EntityNotFound": "missing",
    "EntityAlreadyExists": "exists",
    "TableAlreadyExists": "exists",
    "UpdateConditionNotSatisfied": "precondition",
    "ConditionNotMet": "precondition",
}
_XML_CODE: Final = re.compile(rb"<(?:m:)?code>([^<]*)<", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """A whole HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is not a success, in the service's own words."""

    status: int
    code: str
    message: str
    retry_after_seconds: float | None = None

    @property
    def reason(self) -> FailureReason | None:
        """Why the call failed, when it is one of the three reasons that callers expect."""
        return _REASONS.get(self.code)

    def error(self, table: str) -> StorageError:
        """The error to raise when the caller expects none of the three reasons."""
        said = f"{self.status} {self.code}".strip()
        if self.code in _GONE:
            return TableMissingError(f"Table {table} is not there ({said}): create it, or drop what refers to it.")
        # The documents name this 500 beside 503 as a sign of too many requests.
        if self.status in _BUSY or self.code == _TIMED_OUT:
            return ThrottledError(
                f"The Table service is too busy for table {table} ({said}): try again later, or send less.",
                outcome_unknown=self.status != 429 and self.code != "ServerBusy",
                retry_after_seconds=self.retry_after_seconds,
            )
        if self.status in _BROKEN:
            return StorageUnavailableError(
                f"The Table service failed on table {table} ({said}): try again later.",
                outcome_unknown=True,
                retry_after_seconds=self.retry_after_seconds,
            )
        return RequestRefusedError(
            f"The Table service refuses a call on table {table} ({said}): {self.message} "
            "Check the account, its key or role, and the call."
        )


def refusal_of(answer: TableAnswer) -> Refusal:
    """What an unsuccessful answer says."""
    code, message = read_error(answer.body)
    return Refusal(answer.status, code, message, _retry_after_seconds(answer.headers))


def read_error(body: bytes) -> tuple[str, str]:
    """The code and first line of an error body; a proxy in between may have written anything."""
    try:
        error = orjson.loads(body)["odata.error"]
        return str(error["code"]), str(error["message"]["value"]).partition("\n")[0]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        found = _XML_CODE.search(body)
        return found.group(1).decode("ascii", "replace") if found else "", "The answer gives no reason."


def _retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait; the form with a date is not used by Azure Storage and counts as absent."""
    value = headers.get("Retry-After", "")
    return float(value) if value.isascii() and value.isdigit() else None


def unreadable(table: str) -> StorageUnavailableError:
    """An answer with a status of success whose body the service cannot have written: cut off, or from a proxy."""
    return StorageUnavailableError(
        f"The answer to a call on table {table} cannot be read: try again; look for a proxy if it stays.",
        outcome_unknown=True,
    )
