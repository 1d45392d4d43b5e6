"""Links: the rules of AMQP that hold for every kind of link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from local.emulators.eventhubs.amqp.errors import (
    MESSAGE_SIZE_EXCEEDED,
    NOT_ALLOWED,
    AmqpError,
    DeliveryError,
    LinkError,
)
from local.emulators.eventhubs.amqp.performatives import Disposition
from local.emulators.eventhubs.amqp.types import Described, ULong
from local.emulators.eventhubs.namespace import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from local.emulators.eventhubs.amqp.performatives import Attach, Flow, Transfer
    from local.emulators.eventhubs.namespace import Namespace
    from local.emulators.eventhubs.tokens import Grant

# Given to a client that sends, and topped up at half.
SENDER_CREDIT = 1000
SERIAL_MASK = 0xFFFFFFFF
ACCEPTED = Described(ULong(0x24), [])
_REJECTED_CODE = ULong(0x25)
_UNSETTLED_MODE = 0
_TOO_LARGE = DeliveryError(
    MESSAGE_SIZE_EXCEEDED,
    f"The message has more than {MAX_MESSAGE_BYTES} bytes, the most that is allowed. Send smaller batches.",
)


def remaining(limit: int, used: int) -> int:
    """How far `used` is from `limit`, both counters of 32 bits that wrap around; 0 if it is beyond."""
    distance = (limit - used) & SERIAL_MASK
    return distance if distance < 1 << 31 else 0


@dataclass(frozen=True, slots=True)
class Delivery:
    """A whole message from a client."""

    id: int
    message_format: int
    message: bytes
    is_settled: bool


class LinkSession(Protocol):
    """What a link needs of the session that it belongs to."""

    @property
    def namespace(self) -> Namespace:
        """What all connections share."""

    @property
    def grants(self) -> dict[str, Grant]:
        """What the tokens of this connection open, by hub."""

    @property
    def links(self) -> Mapping[int, Link]:
        """The attached links by handle."""

    @property
    def has_room(self) -> bool:
        """Whether the client takes another transfer now."""

    def send(self, performative: object) -> None:
        """Write one frame."""

    def send_flow(self, link: Link | None = None, *, is_drained: bool = False) -> None:
        """Say how much may be sent, in the session and on a link."""

    def transfer(self, handle: int, message: bytes, *, is_settled: bool) -> None:
        """Send a message, now or when the client's window opens."""

    def detach(self, link: Link, error: LinkError | None = None) -> None:
        """End a link."""


class Link:
    """One end of a link; `attach` is what the client asked for."""

    def __init__(self, session: LinkSession, attach: Attach) -> None:
        self.session = session
        self.attach = attach
        self.handle = attach.handle
        self.delivery_count = 0
        self.credit = 0
        self.is_closed = False

    def start(self) -> None:
        """The client has been told that the link is there."""

    def on_flow(self, flow: Flow) -> None:
        """The client says how much may be sent."""

    def pump(self) -> None:
        """Send what can be sent now."""

    def release(self) -> None:
        """The link has ended: give back what it holds."""
        self.is_closed = True


class IncomingLink(Link):
    """A link on which the client sends."""

    def __init__(self, session: LinkSession, attach: Attach) -> None:
        super().__init__(session, attach)
        self._parts: list[bytes] = []
        self._first: Transfer | None = None
        self._size = 0

    def start(self) -> None:
        """Give the client credit."""
        self._top_up()

    def on_transfer(self, transfer: Transfer, payload: bytes) -> None:
        """A message, or a part of one, has arrived."""
        if self._first is None:
            if transfer.delivery_id is None:
                raise LinkError(NOT_ALLOWED, "The first transfer of a delivery has no delivery-id.")
            self._first = transfer
        self._size += len(payload)
        if self._size <= MAX_MESSAGE_BYTES:
            self._parts.append(payload)
        else:
            self._parts.clear()
        if not transfer.more:
            self._end_of_delivery(self._first, is_aborted=bool(transfer.aborted))

    def _end_of_delivery(self, first: Transfer, *, is_aborted: bool) -> None:
        message = b"".join(self._parts)
        is_too_large = self._size > MAX_MESSAGE_BYTES
        self._parts, self._first, self._size = [], None, 0
        self.delivery_count = (self.delivery_count + 1) & SERIAL_MASK
        self.credit -= 1
        delivery = Delivery(first.delivery_id or 0, first.message_format or 0, message, bool(first.settled))
        if is_too_large and not is_aborted:
            # A rejection and not a detach: @azure/event-hubs waits minutes for the disposition of a lost link.
            self.settle(delivery, _TOO_LARGE)
        elif not is_aborted:
            self.receive(delivery)
        # Clients that send more than they were allowed to are not cut off: azure-eventhub does not count its credit.
        if self.credit <= SENDER_CREDIT // 2 and not self.is_closed:
            self._top_up()

    def receive(self, delivery: Delivery) -> None:
        """A whole message has arrived; settle it when it is safe."""
        raise NotImplementedError

    def settle(self, delivery: Delivery, error: AmqpError | None = None) -> None:
        """Tell the client that its message was accepted, or why not."""
        if error is not None and delivery.is_settled:
            raise LinkError(error.condition, error.description)
        if not delivery.is_settled:
            state = Described(_REJECTED_CODE, [error.on_the_wire()]) if error else ACCEPTED
            self.session.send(Disposition(True, delivery.id, delivery.id, True, state))

    def _top_up(self) -> None:
        self.credit = SENDER_CREDIT
        self.session.send_flow(self)


class OutgoingLink(Link):
    """A link on which the client receives."""

    def on_flow(self, flow: Flow) -> None:
        """The client gives credit, or wants us to use it up now."""
        self.credit = remaining((flow.delivery_count or 0) + (flow.link_credit or 0), self.delivery_count)
        self.pump()
        if flow.drain:
            self._drain()

    def _drain(self) -> None:
        """Give back the credit for which there is nothing to send."""
        self.delivery_count = (self.delivery_count + self.credit) & SERIAL_MASK
        self.credit = 0
        self.session.send_flow(self, is_drained=True)

    def deliver(self, message: bytes) -> None:
        """Send one message; the caller has credit for it."""
        self.delivery_count = (self.delivery_count + 1) & SERIAL_MASK
        self.credit -= 1
        # Settled at once unless the client insists: a log has nothing to redeliver.
        self.session.transfer(self.handle, message, is_settled=self.attach.snd_settle_mode != _UNSETTLED_MODE)
