"""Errors of the benchmarks.

BenchError
└── BenchUsageError    the bench command was given something that it cannot use
"""

from __future__ import annotations

from shared.errors import IndexTablesError


class BenchError(IndexTablesError):
    """A workload cannot be measured as it is written. Correct the workload that the message names."""


class BenchUsageError(BenchError):
    """The bench command was given something that it cannot use. Correct the command line or the file."""
