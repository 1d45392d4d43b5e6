"""Errors of the embedded Azure.

LocalRunError
├── ChildEndedError        a part of the local run has ended by itself
├── FunctionTimedOutError  a function ran longer than functionTimeout
├── HostStoppingError      the host stops before a call was tried for the last time
└── LeaseLostError         a lease could not be renewed

`local/emulators/eventhubs/amqp/errors.py` has those that a client of the local Event Hubs is told.
"""

from __future__ import annotations

from shared.errors import IndexTablesError


class LocalRunError(IndexTablesError):
    """The embedded Azure cannot start or go on. Do what the message says, then start it again."""


class ChildEndedError(LocalRunError):
    """A part of the local run has ended by itself. Its last lines, in the message, say why."""


class FunctionTimedOutError(LocalRunError):
    """A function ran longer than functionTimeout. The host ends, as the worker in Azure does; mend the function."""


class HostStoppingError(LocalRunError):
    """The host stops while a call waits for its next try. Acknowledge nothing; the call is made again later."""


class LeaseLostError(LocalRunError):
    """A lease could not be renewed, so that another host may hold it. The work starts again where it may."""
