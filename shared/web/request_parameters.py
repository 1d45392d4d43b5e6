"""What every call of the API does with parameters that it does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.errors import BadLookupError
from shared.lookup.faults import fault, shown
from shared.lookup.parameters import parse, query_of

if TYPE_CHECKING:
    from shared.errors import Fault


def no_parameters(url: str) -> None:
    """Refuse parameters where there are none; `code` and `clientId` do not count."""
    if names := list(parse(query_of(url))):
        faults: list[Fault] = [
            fault("UnknownParameter", name, f"{shown(name)} is unknown: this call has no parameters.") for name in names
        ]
        raise BadLookupError(*faults)
