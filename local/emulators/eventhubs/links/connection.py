"""One client's TCP connection: bytes to frames, frames to sessions, heartbeats, and closing in order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from local.emulators.eventhubs.amqp.errors import (
    CONNECTION_FORCED,
    ILLEGAL_STATE,
    INTERNAL_ERROR,
    NOT_ALLOWED,
    RESOURCE_LIMIT_EXCEEDED,
    AmqpError,
    SessionError,
)
from local.emulators.eventhubs.amqp.frames import (
    AMQP_FRAME,
    AMQP_HEADER,
    HEARTBEAT,
    MIN_MAX_FRAME_SIZE,
    Frame,
    FrameReader,
    encode_frame,
)
from local.emulators.eventhubs.amqp.performatives import Begin, Close, End, Open
from local.emulators.eventhubs.links.handshake import Handshake
from local.emulators.eventhubs.links.session import Session

if TYPE_CHECKING:
    from local.emulators.eventhubs.namespace import Namespace
    from local.emulators.eventhubs.tokens import Grant

log = logging.getLogger("eventhubs")

CONTAINER_ID = "local-eventhubs"
MAX_FRAME_BYTES = 64 * 1024
CHANNEL_MAX = 4095
# More frequent heartbeats would leave the server no time for anything else.
MIN_HEARTBEAT_SECONDS = 0.05
# How long a client that was told to close may take to do so.
CLOSE_SECONDS = 1.0


class Connection(asyncio.Protocol):
    """The server's end of a connection."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self.grants: dict[str, Grant] = {}
        self.max_frame_bytes = MIN_MAX_FRAME_SIZE
        self.is_paused = False
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader(MAX_FRAME_BYTES)
        self._handshake = Handshake()
        self._sessions: dict[int, Session] = {}
        self._ended_channels: set[int] = set()
        self._unwritten: list[bytes] = []
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._is_open = self._is_closing = False
        self._last_heard = self._loop.time()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.namespace.connections.add(self)
        self._watch_silence()

    def data_received(self, data: bytes) -> None:
        """Bytes have arrived. Wrong ones never end the server: it tells the client what was wrong."""
        if self._is_closing:
            return
        self._last_heard = self._loop.time()
        try:
            for unit in self._reader.feed(data):
                if isinstance(unit, Frame) and self._handshake.is_done:
                    self._take(unit)
                else:
                    self._write(self._handshake.answer(unit))
        except AmqpError as error:
            self._close_with(error)
        except Exception as error:
            log.exception("A frame could not be handled")
            self._close_with(AmqpError(INTERNAL_ERROR, f"The server failed: {error!r}. Its log says where."))

    def eof_received(self) -> None:
        """The client sends no more; asyncio closes our side."""

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone, and with it all of its links."""
        self._is_closing = True
        self.namespace.connections.discard(self)
        for timer in self._timers.values():
            timer.cancel()
        for session in self._sessions.values():
            session.release()
        self._sessions.clear()

    def pause_writing(self) -> None:
        """The client reads more slowly than we write."""
        self.is_paused = True

    def resume_writing(self) -> None:
        """The client has caught up."""
        self.is_paused = False
        for session in self._sessions.values():
            session.pump()

    # What sessions and the server call.

    def send(self, channel: int, performative: object) -> None:
        """Write one frame."""
        self._write(encode_frame(channel, performative))

    def write_all(self, frames: list[bytes]) -> None:
        """Write frames that are encoded already."""
        for frame in frames:
            self._write(frame)

    def drop(self) -> None:
        """Cut the connection without telling the client, as a broken network does."""
        self._transport.abort()

    def shut_down(self) -> None:
        """Close in order, because the server stops; clients connect again when it is back."""
        self._close_with(AmqpError(CONNECTION_FORCED, "The server is stopping."))

    # Frames.

    def _take(self, frame: Frame) -> None:
        if frame.kind != AMQP_FRAME:
            raise AmqpError(ILLEGAL_STATE, "A SASL frame came after SASL was done.")
        performative = frame.performative
        if performative is None:
            return
        if isinstance(performative, Open):
            self._open(performative)
        elif not self._is_open:
            raise AmqpError(ILLEGAL_STATE, f"{type(performative).__name__} came before Open.")
        elif isinstance(performative, Close):
            self._answer_close()
        else:
            self._take_on_channel(frame)

    def _take_on_channel(self, frame: Frame) -> None:
        session = self._sessions.get(frame.channel)
        if isinstance(frame.performative, Begin):
            self._begin(frame.channel, frame.performative)
        elif session is None:
            # azure-eventhub detaches its links after it has ended their session.
            if frame.channel not in self._ended_channels:
                raise AmqpError(ILLEGAL_STATE, f"There is no session on channel {frame.channel}.")
        elif isinstance(frame.performative, End):
            self._end(frame.channel, None)
        else:
            try:
                session.take(frame.performative, frame.payload)
            except SessionError as error:
                self._end(frame.channel, error)

    def _open(self, opened: Open) -> None:
        if self._is_open:
            raise AmqpError(ILLEGAL_STATE, "The connection is open already.")
        asked_bytes = MAX_FRAME_BYTES if opened.max_frame_size is None else opened.max_frame_size
        if asked_bytes < MIN_MAX_FRAME_SIZE:
            raise AmqpError(NOT_ALLOWED, f"max-frame-size is {asked_bytes}; {MIN_MAX_FRAME_SIZE} is the least.")
        self.max_frame_bytes = min(asked_bytes, MAX_FRAME_BYTES)
        self._send_open(opened.hostname)
        if opened.idle_time_out_ms:
            self._keep_alive(max(opened.idle_time_out_ms / 2000, MIN_HEARTBEAT_SECONDS))

    def _send_open(self, hostname: str | None = None) -> None:
        self._is_open = True
        idle_ms = int(self.namespace.idle_timeout_seconds * 1000)
        self.send(0, Open(CONTAINER_ID, hostname, MAX_FRAME_BYTES, CHANNEL_MAX, idle_ms))

    def _begin(self, channel: int, begin: Begin) -> None:
        if channel in self._sessions or channel > CHANNEL_MAX:
            raise AmqpError(NOT_ALLOWED, f"Channel {channel} is in use, or above {CHANNEL_MAX}.")
        self._ended_channels.discard(channel)
        self._sessions[channel] = Session(self, channel, begin)

    def _end(self, channel: int, error: SessionError | None) -> None:
        self._sessions.pop(channel).release()
        self._ended_channels.add(channel)
        self.send(channel, End(error.on_the_wire() if error else None))

    # The end.

    def _answer_close(self) -> None:
        self.send(0, Close())
        self._is_closing = True
        self._flush()
        self._transport.close()

    def _close_with(self, error: AmqpError) -> None:
        """Tell the client why, and wait for it to close: closing with unread bytes would destroy that message."""
        if self._is_closing:
            return
        log.info("Closing a connection: %s", error)
        if not self._handshake.is_done:
            self._write(AMQP_HEADER)
        if not self._is_open:
            self._send_open()
        self.send(0, Close(error.on_the_wire()))
        self._is_closing = True
        self._flush()
        for session in self._sessions.values():
            session.release()
        with contextlib.suppress(OSError):
            self._transport.write_eof()
        self._timers["close"] = self._loop.call_later(CLOSE_SECONDS, self._transport.close)

    # Time.

    def _watch_silence(self) -> None:
        """Close the connection when the client has been silent for longer than our `open` allows."""
        silent_seconds = self._loop.time() - self._last_heard
        left_seconds = self.namespace.idle_timeout_seconds - silent_seconds
        if left_seconds <= 0:
            self._close_with(AmqpError(RESOURCE_LIMIT_EXCEEDED, "The connection was idle for longer than allowed."))
        else:
            self._timers["silence"] = self._loop.call_later(left_seconds, self._watch_silence)

    def _keep_alive(self, every_seconds: float) -> None:
        self._write(HEARTBEAT)
        self._timers["heartbeat"] = self._loop.call_later(every_seconds, self._keep_alive, every_seconds)

    # Writing: what one turn of the loop produces goes out in one call.

    def _write(self, octets: bytes) -> None:
        if self._is_closing:
            return
        if not self._unwritten:
            self._loop.call_soon(self._flush)
        self._unwritten.append(octets)

    def _flush(self) -> None:
        if self._unwritten and not self._transport.is_closing():
            self._transport.writelines(self._unwritten)
        self._unwritten.clear()
