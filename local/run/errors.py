"""Errors of the supervisor and its children."""

from __future__ import annotations

from local.process.errors import LocalRunError


class ChildEndedError(LocalRunError):
    """A part of the local run has ended by itself. Its last lines, in the message, say why."""
