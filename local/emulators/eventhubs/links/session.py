"""One session of a connection: its links, and the windows that limit transfers."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from local.emulators.eventhubs.amqp.errors import HANDLE_IN_USE, NOT_ALLOWED, UNATTACHED_HANDLE, LinkError, SessionError
from local.emulators.eventhubs.amqp.frames import transfer_frames
from local.emulators.eventhubs.amqp.performatives import Attach, Begin, Detach, Disposition, Flow, Transfer
from local.emulators.eventhubs.links.attaching import open_link
from local.emulators.eventhubs.links.links import SERIAL_MASK, IncomingLink, remaining
from local.emulators.eventhubs.namespace import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from local.emulators.eventhubs.links.links import Link
    from local.emulators.eventhubs.namespace import Namespace
    from local.emulators.eventhubs.tokens import Grant

# We store what arrives at once, so that the client may always send.
INCOMING_WINDOW = 0x7FFFFFFF
HANDLE_MAX = 255


class FrameWriter(Protocol):
    """What a session needs of its connection: where to write frames, and what its links share."""

    namespace: Namespace
    grants: dict[str, Grant]
    max_frame_bytes: int
    is_paused: bool

    def send(self, channel: int, performative: object) -> None:
        """Write one frame."""

    def write_all(self, frames: list[bytes]) -> None:
        """Write frames that are encoded already."""


class Session:
    """The server's end of a session."""

    def __init__(self, connection: FrameWriter, channel: int, begin: Begin) -> None:
        self._connection = connection
        self.namespace = connection.namespace
        self.grants = connection.grants
        self.channel = channel
        self.links: dict[int, Link] = {}
        self._detached: set[int] = set()
        self._next_incoming_id = begin.next_outgoing_id
        # Transfer ids count frames, delivery ids count messages.
        self._next_outgoing_id = self._next_delivery_id = 0
        self._window = begin.incoming_window
        self._waiting: deque[bytes] = deque()
        self._takers: dict[type, Callable[[Any], None]] = {
            Attach: self._attach,
            Flow: self._flow,
            Disposition: self._disposition,
            Detach: self._detach,
        }
        self.send(Begin(channel, 0, INCOMING_WINDOW, INCOMING_WINDOW, HANDLE_MAX))

    @property
    def has_room(self) -> bool:
        """Whether the client takes another transfer now."""
        return self._window > 0 and not self._waiting and not self._connection.is_paused

    def take(self, performative: object, payload: bytes) -> None:
        """A frame has arrived."""
        if isinstance(performative, Transfer):
            self._transfer(performative, payload)
            return
        taker = self._takers.get(type(performative))
        if taker is None:
            raise SessionError(NOT_ALLOWED, f"{type(performative).__name__} may not stand in a session.")
        taker(performative)

    def send(self, performative: object) -> None:
        """Write one frame."""
        self._connection.send(self.channel, performative)

    def send_flow(self, link: Link | None = None, *, is_drained: bool = False) -> None:
        """Say how much may be sent, in the session and on a link."""
        self.send(
            Flow(
                self._next_incoming_id,
                INCOMING_WINDOW,
                self._next_outgoing_id,
                INCOMING_WINDOW,
                link.handle if link else None,
                link.delivery_count if link else None,
                link.credit if link else None,
                drain=is_drained,
                echo=False,
            )
        )

    def transfer(self, handle: int, message: bytes, *, is_settled: bool) -> None:
        """Send a message in as many frames as it needs, now or when the client's window opens."""
        delivery_id = self._next_delivery_id
        self._next_delivery_id = (delivery_id + 1) & SERIAL_MASK
        self._waiting.extend(
            transfer_frames(self.channel, handle, delivery_id, message, self._connection.max_frame_bytes, is_settled)
        )
        self._send_waiting()

    def _send_waiting(self) -> None:
        count = min(self._window, len(self._waiting))
        self._window -= count
        self._next_outgoing_id = (self._next_outgoing_id + count) & SERIAL_MASK
        self._connection.write_all([self._waiting.popleft() for _ in range(count)])

    def pump(self) -> None:
        """Send what can be sent now, on every link."""
        for link in list(self.links.values()):
            link.pump()

    def detach(self, link: Link, error: LinkError | None = None) -> None:
        """End a link."""
        if self.links.get(link.handle) is not link:
            return
        del self.links[link.handle]
        link.release()
        if error is not None:
            # The client may not know yet: what it still sends on this handle is dropped until it detaches too.
            self._detached.add(link.handle)
        self.send(Detach(link.handle, True, error.on_the_wire() if error else None))

    def release(self) -> None:
        """The session has ended, and with it its links."""
        for link in self.links.values():
            link.release()
        self.links.clear()

    # Frames.

    def _attach(self, attach: Attach) -> None:
        if attach.handle in self.links or attach.handle > HANDLE_MAX:
            raise SessionError(HANDLE_IN_USE, f"Handle {attach.handle} is in use, or above {HANDLE_MAX}.")
        self._detached.discard(attach.handle)
        try:
            link = open_link(self, attach)
        except LinkError as error:
            self._answer_attach(attach, is_refused=True)
            self._detached.add(attach.handle)
            self.send(Detach(attach.handle, True, error.on_the_wire()))
            return
        self.links[attach.handle] = link
        self._answer_attach(attach)
        link.start()

    def _answer_attach(self, attach: Attach, *, is_refused: bool = False) -> None:
        """A refused link has no source (or target): that is how a client knows before the detach that follows."""
        self.send(
            Attach(
                attach.name,
                attach.handle,
                not attach.is_receiver,
                attach.snd_settle_mode,
                attach.rcv_settle_mode,
                None if is_refused and attach.is_receiver else attach.source,
                None if is_refused and not attach.is_receiver else attach.target,
                initial_delivery_count=0 if attach.is_receiver else None,
                max_message_size=MAX_MESSAGE_BYTES,
                properties=attach.properties,
            )
        )

    def _flow(self, flow: Flow) -> None:
        self._next_incoming_id = flow.next_outgoing_id
        self._window = remaining((flow.next_incoming_id or 0) + flow.incoming_window, self._next_outgoing_id)
        self._send_waiting()
        if flow.handle is None:
            self.pump()
            if flow.echo:
                self.send_flow()
            return
        link = self._link(flow.handle)
        if link is not None:
            link.on_flow(flow)
            if flow.echo:
                self.send_flow(link)

    def _transfer(self, transfer: Transfer, payload: bytes) -> None:
        self._next_incoming_id = (self._next_incoming_id + 1) & SERIAL_MASK
        link = self._link(transfer.handle)
        if link is None:
            return
        try:
            if not isinstance(link, IncomingLink):
                raise LinkError(NOT_ALLOWED, "A transfer came on a link on which the client receives.")
            link.on_transfer(transfer, payload)
        except LinkError as error:
            self.detach(link, error)

    def _disposition(self, disposition: Disposition) -> None:
        """A client that settles second waits for us to settle too."""
        if disposition.is_receiver and not disposition.settled:
            self.send(Disposition(False, disposition.first, disposition.last, True, disposition.state))

    def _detach(self, detach: Detach) -> None:
        if detach.handle in self._detached:
            self._detached.discard(detach.handle)
            return
        link = self._link(detach.handle)
        if link is not None:
            self.detach(link)

    def _link(self, handle: int) -> Link | None:
        link = self.links.get(handle)
        if link is None and handle not in self._detached:
            raise SessionError(UNATTACHED_HANDLE, f"There is no link with handle {handle}.")
        return link
