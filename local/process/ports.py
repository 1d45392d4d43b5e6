"""Ports on loopback: the usual ones when they are free, any free ones otherwise."""

from __future__ import annotations

import argparse
import contextlib
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def port_number(text: str) -> int:
    """A port on a command line."""
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 65536):
        raise argparse.ArgumentTypeError(f"'{text}' is not a port: give a number from 1 to 65535")
    return int(text)


def is_free(port: int) -> bool:
    """Whether no process listens on `port` of 127.0.0.1."""
    with socket.socket() as probe:
        # As servers do: a port whose last connections linger is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def choose(usual: Sequence[int]) -> list[int]:
    """The usual ports if all of them are free, else as many others."""
    return list(usual) if all(is_free(port) for port in usual) else any_free(len(usual))


def any_free(count: int) -> list[int]:
    """Ports that the system gives out, all different because they are held open together."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [held.getsockname()[1] for held in sockets]
