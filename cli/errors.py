"""Errors of the command line itself."""

from __future__ import annotations

from shared.errors import IndexTablesError


class UsageError(IndexTablesError):
    """The command was called wrongly. Call it as its `--help` says."""


class ServiceError(IndexTablesError):
    """The app did not answer, or with a problem. Do what the message says."""
