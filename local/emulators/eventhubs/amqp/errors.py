"""What a peer is told when something is wrong: a condition that SDKs act on and a sentence that people read.

LocalAzureError
└── AmqpError                    closes the connection
    ├── MalformedError           bytes that are not AMQP
    ├── SessionError             ends the session
    ├── LinkError                detaches the link
    │   └── EntityNotFoundError  there is no such hub, consumer group or address
    └── DeliveryError            rejects one delivery
"""

from __future__ import annotations

import contextlib
import struct
from typing import TYPE_CHECKING

from local.emulators.eventhubs.amqp.types import Described, Symbol, ULong
from local.process.errors import LocalAzureError

if TYPE_CHECKING:
    from collections.abc import Iterator

DECODE_ERROR = "amqp:decode-error"
FRAMING_ERROR = "amqp:connection:framing-error"
CONNECTION_FORCED = "amqp:connection:forced"
ILLEGAL_STATE = "amqp:illegal-state"
INTERNAL_ERROR = "amqp:internal-error"
INVALID_FIELD = "amqp:invalid-field"
NOT_ALLOWED = "amqp:not-allowed"
NOT_FOUND = "amqp:not-found"
NOT_IMPLEMENTED = "amqp:not-implemented"
RESOURCE_LIMIT_EXCEEDED = "amqp:resource-limit-exceeded"
UNAUTHORIZED_ACCESS = "amqp:unauthorized-access"
HANDLE_IN_USE = "amqp:session:handle-in-use"
UNATTACHED_HANDLE = "amqp:session:unattached-handle"
MESSAGE_SIZE_EXCEEDED = "amqp:link:message-size-exceeded"
STOLEN = "amqp:link:stolen"
ARGUMENT_OUT_OF_RANGE = "com.microsoft:argument-out-of-range"

_ERROR_CODE = ULong(0x1D)


class AmqpError(LocalAzureError):
    """A peer did what it may not, or asked for what is not there. Correct the client that the log names."""

    def __init__(self, condition: str, description: str) -> None:
        super().__init__(f"{condition}: {description}")
        self.condition = condition
        self.description = description

    def on_the_wire(self) -> Described:
        """The `error` composite; all three fields, because azure-eventhub reads each of them by index."""
        return Described(_ERROR_CODE, [Symbol(self.condition), self.description, None])


class MalformedError(AmqpError):
    """Bytes that are not AMQP 1.0. Look for the peer that speaks TLS, HTTP or another version."""

    def __init__(self, description: str, condition: str = DECODE_ERROR) -> None:
        super().__init__(condition, description)


class SessionError(AmqpError):
    """The peer used a session against its rules. The session ends; the connection goes on."""


class LinkError(AmqpError):
    """A link is refused or may not go on. It is detached; the session goes on."""


class EntityNotFoundError(LinkError):
    """There is no such entity. @azure/event-hubs knows this by the sentence, not by the condition."""

    def __init__(self, entity: str, advice: str) -> None:
        super().__init__(NOT_FOUND, f"The messaging entity '{entity}' could not be found. {advice}")


class DeliveryError(AmqpError):
    """One delivery cannot be taken. It is rejected; the link goes on."""


@contextlib.contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn everything that unreadable bytes can raise in a decoder into `MalformedError`."""
    try:
        yield
    except MalformedError:
        raise
    except (IndexError, struct.error):
        raise MalformedError(f"{what} ends before its last value does.") from None
    except RecursionError:
        raise MalformedError(f"{what} is nested too deeply.") from None
    except (ValueError, OverflowError, TypeError) as error:
        raise MalformedError(f"{what} holds a value that is not allowed there: {error}.") from None
