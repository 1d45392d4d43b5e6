"""The parameters of a call as they were sent: decoded strictly, each once, within limits.

Read from the query string itself, because the Functions host drops empty values and joins repeated ones. Azure's own
parameters (`code`, `clientId`) are left out here, so nothing further on can repeat a key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import quote, unquote_to_bytes

from shared.errors import BadRequestError
from shared.inputs.faults import fault, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.errors import Fault

Parameters: TypeAlias = dict[str, str]

# Azure Functions takes addresses of 4096 bytes; more than that never comes from a real caller.
VALUE_BYTES_MAX: Final = 4096
PARAMETERS_MAX: Final = 40
_KEYS_OF_AZURE: Final = frozenset({"code", "clientId"})


def query_of(url: str) -> str:
    """The query string of an address, as it was sent. The path before it may be unescaped, so it is not parsed."""
    return url.partition("?")[2]


def parse(query: str) -> Parameters:
    """The parameters of a query string; raises `BadRequestError` with all faults of their writing."""
    pieces = [piece for piece in query.split("&") if piece]
    if too_many := number_fault(len(pieces)):
        raise BadRequestError(too_many)
    parameters: Parameters = {}
    faults: list[Fault] = []
    for piece in pieces:
        name, value = _read(piece, faults)
        if name in parameters:
            detail = f"Parameter {shown(name)} is given more than once; send it once."
            faults.append(fault("RepeatedParameter", name, detail))
        if name not in _KEYS_OF_AZURE:
            parameters[name] = value
    if faults:
        raise BadRequestError(*faults)
    return parameters


def number_fault(count: int) -> Fault | None:
    """What is wrong with so many parameters."""
    if count <= PARAMETERS_MAX:
        return None
    return fault("TooManyParameters", "", f"There are {count} parameters; send at most {PARAMETERS_MAX}.")


def length_fault(name: str, value: str) -> Fault | None:
    """What is wrong with the length of a parameter."""
    if len(name.encode()) + len(value.encode()) <= VALUE_BYTES_MAX:
        return None
    detail = f"Parameter {shown(name)} has over {VALUE_BYTES_MAX} bytes; send a shorter one."
    return fault("ParameterTooLong", name, detail)


def no_parameters(url: str) -> None:
    """Refuse parameters where there are none; `code` and `clientId` do not count."""
    if names := list(parse(query_of(url))):
        raise BadRequestError(
            *(
                fault("UnknownParameter", name, f"{shown(name)} is unknown: this call has no parameters.")
                for name in names
            )
        )


def _read(piece: str, faults: list[Fault]) -> tuple[str, str]:
    """Name and value of one parameter, as far as they can be read."""
    raw_name, _, raw_value = piece.partition("=")
    name = raw_name
    try:
        name = _decoded(raw_name)
        value = _decoded(raw_value)
    except UnicodeError:
        detail = f"Parameter {shown(name)} is not UTF-8: percent-encode the bytes of its UTF-8 form."
        faults.append(fault("InvalidEncoding", ascii(name), detail))
        return name, ""
    if too_long := length_fault(name, value):
        faults.append(too_long)
    return name, value


def to_query(parameters: Mapping[str, str]) -> str:
    """A query string that `parse` reads as these parameters."""
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in parameters.items())


def _decoded(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8")
