"""One request and one answer, free of the HTTP library: what the handlers take and give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from local.emulators.cosmos.errors import BadRequestError, CosmosError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The service refuses requests and documents above this size. It counts the bytes that are sent: a client that escapes
# everything beyond ASCII reaches it sooner.
MAX_BODY_BYTES = 2 * 1024 * 1024


def encode_json(value: Any) -> bytes:
    """JSON of something that came from a client, which may be nested deeper than can be written."""
    try:
        return orjson.dumps(value)
    except TypeError as error:
        raise BadRequestError(f"The value cannot be written as JSON: {error}.") from error


@dataclass(frozen=True, slots=True)
class Call:
    """A request: its path is split and unquoted, its header names match in any case."""

    method: str
    path: tuple[str, ...]
    headers: Mapping[str, str]
    body: bytes

    def is_set(self, header: str) -> bool:
        """Whether a boolean header is there and true, in any spelling."""
        return self.headers.get(header, "").lower() == "true"

    @property
    def prefers_minimal(self) -> bool:
        """Whether the answer to a write goes without the document."""
        return "return=minimal" in self.headers.get("prefer", "").lower().replace(" ", "")

    def json(self) -> Any:
        """The body as JSON."""
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError as error:
            raise BadRequestError(f"The request body is not valid JSON: {error}.") from error

    def json_object(self) -> dict[str, Any]:
        """The body as a JSON object."""
        body = self.json()
        if not isinstance(body, dict):
            raise BadRequestError("The request body must be a JSON object.")
        return body


@dataclass(slots=True)
class Answer:
    """A response; handlers and the gateway add headers to it."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def answer_json(status: int, body: Any) -> Answer:
    return Answer(status, orjson.dumps(body))


def answer_error(error: CosmosError) -> Answer:
    """The one shape of every refusal."""
    answer = answer_json(error.status, {"code": error.code, "message": str(error)})
    answer.headers["x-ms-substatus"] = str(error.substatus)
    return answer


def answer_feed(rid: str, name: str, rows: Sequence[bytes]) -> Answer:
    """A list of resources that are JSON already, under the name that this kind of list has."""
    listed = b",".join(rows)
    body = b'{"_rid":"%b","%b":[%b],"_count":%d}' % (rid.encode(), name.encode(), listed, len(rows))
    return Answer(200, body, {"x-ms-item-count": str(len(rows))})
