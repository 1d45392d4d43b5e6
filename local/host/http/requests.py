"""Requests as ASP.NET hands them to Azure's host: what is decoded, what is escaped again, what is joined.

The path is decoded once, except for `%2F` and for bytes that are no UTF-8, and its dots are resolved; routes match that
form. Functions see it escaped again. Names of headers and parameters ignore case; values of one name are joined.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_ESCAPE_OR_REST = re.compile(r"(%[0-9A-Fa-f]{2})")
_ESCAPE_LENGTH = 3
_LONGEST_CHARACTER = 4
# What may stand in a path as it is, beside letters, digits and `-._~`.
_PATH_SAFE = "/!$&'()*+,;=:@"
_SLASH = "/"


def unescaped(text: str, *, keeps_slashes: bool = False) -> str:
    """Percent-decoded where the bytes are UTF-8; with `keeps_slashes`, `%2F` stays too."""
    return _ESCAPES.sub(lambda match: _characters(match[0], keeps_slashes=keeps_slashes), text)


def _characters(escapes: str, *, keeps_slashes: bool) -> str:
    octets, decoded, position = bytes.fromhex(escapes.replace("%", "")), [], 0
    while position < len(octets):
        character = _character_at(octets, position)
        width = len(character.encode()) if character else 1
        if not character or (keeps_slashes and character == _SLASH):
            decoded.append(escapes[position * _ESCAPE_LENGTH : (position + 1) * _ESCAPE_LENGTH])
        else:
            decoded.append(character)
        position += width
    return "".join(decoded)


def _character_at(octets: bytes, position: int) -> str:
    """The character that starts there in UTF-8; empty if none does."""
    for width in range(1, _LONGEST_CHARACTER + 1):
        try:
            return octets[position : position + width].decode()
        except UnicodeDecodeError:
            continue
    return ""


def host_path(raw_path: str) -> str:
    """The path that routes match: decoded, without `.` and `..`."""
    segments: list[str] = []
    for segment in unescaped(raw_path, keeps_slashes=True).split("/")[1:]:
        is_last_resolved = segment in (".", "..")
        if segment == ".." and segments:
            segments.pop()
        elif not is_last_resolved:
            segments.append(segment)
    ends_in_dots = unescaped(raw_path).rpartition("/")[2] in (".", "..")
    return "/" + "/".join(segments) + ("/" if ends_in_dots and segments else "")


def escaped(path: str) -> str:
    """A path as it stands in a URL; what looks like an escape already stays one, as ASP.NET has it."""
    parts = _ESCAPE_OR_REST.split(path)
    return "".join(part if index % 2 else quote(part, safe=_PATH_SAFE) for index, part in enumerate(parts))


def parameters(query_string: str) -> dict[str, str]:
    """`req.params`: names that differ only in case are one, empty values are dropped, the others joined with commas."""
    pairs = (part.partition("=") for part in query_string.split("&") if part)
    return joined((_form_text(name), _form_text(value)) for name, _, value in pairs if value)


def _form_text(text: str) -> str:
    return unescaped(text.replace("+", " "))


def joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """One value for each name, under its first spelling."""
    spelling: dict[str, str] = {}
    values: dict[str, str] = {}
    for name, value in pairs:
        first = spelling.setdefault(name.lower(), name)
        values[first] = f"{values[first]},{value}" if first in values else value
    return values
