"""Requests and replies: a client asks on one link and is answered on another, at `$cbs` and at `$management`."""

from __future__ import annotations

import time
from collections import deque
from http import HTTPStatus
from typing import TYPE_CHECKING

from local.emulators.eventhubs.amqp import messages
from local.emulators.eventhubs.amqp.errors import NOT_IMPLEMENTED, UNAUTHORIZED_ACCESS
from local.emulators.eventhubs.links import management
from local.emulators.eventhubs.links.addresses import CBS
from local.emulators.eventhubs.links.links import IncomingLink, OutgoingLink
from local.emulators.eventhubs.links.management import Reply
from local.emulators.eventhubs.tokens import TokenRefusedError

if TYPE_CHECKING:
    from local.emulators.eventhubs.amqp.performatives import Attach
    from local.emulators.eventhubs.links.links import Delivery, LinkSession


class ReplyLink(OutgoingLink):
    """The link on which a client waits for answers."""

    def __init__(self, session: LinkSession, attach: Attach, node: str) -> None:
        super().__init__(session, attach)
        self.node = node
        self._waiting: deque[bytes] = deque()

    def reply(self, message: bytes) -> None:
        """Send an answer when the client has credit for it."""
        self._waiting.append(message)
        self.pump()

    def pump(self) -> None:
        """Send the answers that the client has credit for."""
        while self._waiting and self.credit > 0 and self.session.has_room:
            self.deliver(self._waiting.popleft())


class RequestLink(IncomingLink):
    """The link on which a client asks."""

    def __init__(self, session: LinkSession, attach: Attach, node: str) -> None:
        super().__init__(session, attach)
        self.node = node

    def receive(self, delivery: Delivery) -> None:
        """Answer the request."""
        request = messages.request(delivery.message)
        answer = self._put_token(request) if self.node == CBS else self._manage(request)
        self.settle(delivery)
        message = messages.reply(request.message_id, answer.properties, answer.value)
        for link in self.session.links.values():
            if isinstance(link, ReplyLink) and link.node == self.node:
                link.reply(message)
                return

    def _put_token(self, request: messages.Request) -> Reply:
        if request.text("operation") != "put-token":
            description = "$cbs knows one operation, put-token."
            return Reply(HTTPStatus.BAD_REQUEST, description, condition=NOT_IMPLEMENTED)
        try:
            grant = self.session.namespace.key.grant(str(request.value), time.time())
        except TokenRefusedError as error:
            return Reply(HTTPStatus.UNAUTHORIZED, str(error), condition=UNAUTHORIZED_ACCESS)
        self.session.grants[grant.hub] = grant
        return Reply(HTTPStatus.ACCEPTED, "Accepted")

    def _manage(self, request: messages.Request) -> Reply:
        return management.answer(request, self.session.namespace, self.session.grants.values())
