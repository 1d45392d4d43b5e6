"""A client that speaks frames: for what the SDKs never send, and for what they do not show."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import socket
import time
from collections import deque
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import quote_plus

from local.emulators.eventhubs.amqp import messages
from local.emulators.eventhubs.amqp.encode import encode
from local.emulators.eventhubs.amqp.frames import (
    AMQP_HEADER,
    SASL_FRAME,
    SASL_HEADER,
    Frame,
    FrameReader,
    ProtocolHeader,
    encode_frame,
)
from local.emulators.eventhubs.amqp.performatives import (
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    Flow,
    Open,
    SaslInit,
    SaslOutcome,
    Transfer,
)
from local.emulators.eventhubs.amqp.types import Described, Symbol, ULong
from local.emulators.eventhubs.options import KEY, KEY_NAME

if TYPE_CHECKING:
    from types import TracebackType

ANSWER_SECONDS = 5.0
CHANNEL = 1
P = TypeVar("P")


def sas_token(resource: str, *, key: str = KEY, name: str = KEY_NAME, expires_in_seconds: int = 3600) -> str:
    """A shared access signature, as an SDK makes it."""
    expiry = int(time.time()) + expires_in_seconds
    signed = hmac.new(key.encode(), f"{quote_plus(resource)}\n{expiry}".encode(), hashlib.sha256).digest()
    signature = quote_plus(base64.b64encode(signed))
    return f"SharedAccessSignature sr={quote_plus(resource)}&sig={signature}&se={expiry}&skn={name}"


def event(body: bytes, key: str | None = None) -> bytes:
    """One encoded event."""
    annotations = {Symbol("x-opt-partition-key"): key} if key else {}
    head = encode(Described(ULong(messages.MESSAGE_ANNOTATIONS), annotations))
    return head + encode(Described(ULong(messages.DATA), body))


class WireClient:
    """One connection; frames that arrive are read in order, and those that nobody asked about are passed over."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS)
        self._reader = FrameReader(1 << 20)
        self._arrived: deque[ProtocolHeader | Frame] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._socket.close()

    def write(self, octets: bytes) -> None:
        """Send raw bytes."""
        self._socket.sendall(octets)

    def end_of_output(self) -> None:
        """Say that we send no more."""
        self._socket.shutdown(socket.SHUT_WR)

    def send(self, performative: object, payload: bytes = b"", channel: int = CHANNEL) -> None:
        """Send one frame."""
        self.write(encode_frame(channel, performative, payload))

    def next(self) -> ProtocolHeader | Frame | None:
        """The next header or frame; None at the end of the connection."""
        while not self._arrived:
            octets = self._socket.recv(65536)
            if not octets:
                return None
            self._arrived.extend(self._reader.feed(octets))
        return self._arrived.popleft()

    def expect(self, kind: type[P]) -> P:
        """The next performative of this kind."""
        return self.expect_frame(kind).performative  # type: ignore[no-any-return]  # a Frame's performative is Any

    def expect_frame(self, kind: type[Any]) -> Frame:
        """The frame of the next performative of this kind."""
        while (unit := self.next()) is not None:
            if isinstance(unit, Frame) and isinstance(unit.performative, kind):
                return unit
            if isinstance(unit, Frame) and isinstance(unit.performative, Close):
                break
        raise AssertionError(f"The connection ended before {kind.__name__} came: {unit}")

    def rest(self, kind: type[P]) -> list[P]:
        """The performatives of this kind that still come before the connection breaks off."""
        found: list[P] = []
        with contextlib.suppress(ConnectionResetError, AssertionError):
            while True:
                found.append(self.expect(kind))
        return found

    def is_silent(self, seconds: float) -> bool:
        """Whether nothing arrives for so long."""
        self._socket.settimeout(seconds)
        try:
            return not self._arrived and not self._socket.recv(1)
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(ANSWER_SECONDS)

    def until_closed(self) -> Close | None:
        """Read to the end; gives the close frame, if there was one."""
        close = None
        while (unit := self.next()) is not None:
            if isinstance(unit, Frame) and isinstance(unit.performative, Close):
                close = unit.performative
        return close

    def open(self, **options: Any) -> Open:
        """Exchange headers, SASL and open."""
        self.write(SASL_HEADER)
        self.write(encode_frame(0, SaslInit("ANONYMOUS"), kind=SASL_FRAME))
        assert self.expect(SaslOutcome).code == 0
        self.write(AMQP_HEADER)
        self.send(Open("test", "localhost", **options), channel=0)
        return self.expect(Open)

    def ready(self) -> Self:
        """Open, with a session on `CHANNEL`, and allowed to use every hub."""
        self.open()
        self.begin()
        assert self.authorize() == HTTPStatus.ACCEPTED
        return self

    def begin(self, incoming_window: int = 1000) -> Begin:
        """Start the session."""
        self.send(Begin(None, 0, incoming_window, 1000))
        return self.expect(Begin)

    def attach(self, handle: int, address: str, *, receiver: bool, **options: Any) -> Attach:
        """Start a link; gives the server's answer."""
        source = Described(ULong(0x28), [address, *[None] * 6, options.pop("filters", None)])
        target = Described(ULong(0x29), [address])
        self.send(Attach(f"link-{handle}-{address}", handle, receiver, source=source, target=target, **options))
        return self.expect(Attach)

    def credit(self, handle: int, credit: int, *, delivery_count: int = 0, **options: Any) -> None:
        """Allow the server to send on a link."""
        window = options.pop("incoming_window", 1000)
        self.send(Flow(options.pop("next_incoming_id", 0), window, 0, 1000, handle, delivery_count, credit, **options))

    def authorize(self, resource: str = "sb://localhost/", token: str | None = None) -> int:
        """Put a token to `$cbs`; gives the status code."""
        self.attach(100, "$cbs", receiver=True)
        self.attach(101, "$cbs", receiver=False)
        self.credit(100, 10)
        reply = self.ask(101, {"operation": "put-token", "name": resource}, token or sas_token(resource))
        for handle in (100, 101):
            self.send(Detach(handle, True))
            self.expect(Detach)
        return int(reply["status-code"])

    def ask(self, handle: int, properties: dict[str, object], value: object = None) -> dict[str, Any]:
        """Send a request; gives the application properties of the reply, and its value as `value`."""
        self.send(Transfer(handle, handle, b"t", 0, True), messages.reply("id", properties, value))
        reply = messages.request(self.expect_frame(Transfer).payload)
        return {**{str(name): v for name, v in reply.properties.items()}, "value": reply.value}

    def publish(self, handle: int, message: bytes, message_format: int = 0, delivery_id: int = 0) -> Any:
        """Send one message; gives the state that the server settles it with."""
        self.send(Transfer(handle, delivery_id, b"t", message_format, False), message)
        return self.expect(Disposition).state

    def delivered(self, count: int) -> list[bytes]:
        """The bodies of the next `count` messages, in whichever number of frames they come."""
        bodies: list[bytes] = []
        pending = b""
        while len(bodies) < count:
            frame = self.expect_frame(Transfer)
            pending += frame.payload
            if not frame.performative.more:
                bodies += [section.value for section in messages.sections(pending) if section.code == messages.DATA]
                pending = b""
        return bodies
