"""Calls without parameters say so."""

from __future__ import annotations

from shared.errors import BadRequestError
from shared.inputs.faults import fault, shown
from shared.inputs.parameters import parse, query_of


def no_parameters(url: str) -> None:
    """Refuse parameters where there are none; `code` and `clientId` do not count."""
    if names := list(parse(query_of(url))):
        raise BadRequestError(
            *(
                fault("UnknownParameter", name, f"{shown(name)} is unknown: this call has no parameters.")
                for name in names
            )
        )
