"""Errors of the function host.

LocalRunError
├── FunctionTimedOutError  a function ran longer than functionTimeout
├── HostStoppingError      the host stops before the last try of a call
├── LeaseLostError         a lease could not be renewed
└── UnreadablePageError    a page that the extension could not turn into a call
"""

from __future__ import annotations

from local.process.errors import LocalRunError


class FunctionTimedOutError(LocalRunError):
    """A function ran longer than functionTimeout. The host starts again, as Azure's worker does; fix the function."""


class HostStoppingError(LocalRunError):
    """The host stops while a call waits for its next try. Acknowledge nothing; the call is made again later."""


class LeaseLostError(LocalRunError):
    """A lease could not be renewed, so another host may hold it. Start the work again when the lease is free."""


class UnreadablePageError(LocalRunError):
    """A page of a feed that the real extension fails on before it calls a function. Change the document it names."""
