"""Requests of the service that the local server does not answer, refused in words that say so.

Their signatures are made in ways of their own, so this comes first: otherwise a client would
hear that its key is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from local.emulators.cosmos.errors import BadRequestError

if TYPE_CHECKING:
    from local.emulators.cosmos.exchange import Call

# By the segment that marks them, and where it is.
_REFUSALS = {
    (0, "addresses"): "has no direct mode: let the client connect in gateway mode (ConnectionMode.Gateway)",
    (4, "operations"): "does not delete by partition key, nor run other operations: delete the items one by one",
}


def refuse_unsupported(call: Call) -> None:
    """Refuse what only the service can do."""
    for (place, name), what in _REFUSALS.items():
        if call.path[place : place + 1] == (name,):
            raise BadRequestError(f"The local Cosmos DB {what}.")
