"""Errors of the command line itself."""

from __future__ import annotations

from shared.errors import IndexTablesError


class UsageError(IndexTablesError):
    """The command was called wrongly. Call it as its `--help` says."""
