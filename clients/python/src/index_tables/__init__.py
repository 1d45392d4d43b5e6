"""Look up facts by what they contain: the client of Index Tables."""

from index_tables.aio import AsyncIndex, AsyncIndexTables
from index_tables.answers import Behind, Count, Entry, Explanation, Page
from index_tables.callers import AsyncCredential, Credential
from index_tables.client import Index, IndexTables
from index_tables.errors import (
    Fault,
    ForeignAddressError,
    IndexTablesError,
    ProblemError,
    Suggestion,
    UnreachableError,
)
from index_tables.flows import Patience
from index_tables.values import CountOptions, Options, Value, seen

__all__ = [
    "AsyncCredential",
    "AsyncIndex",
    "AsyncIndexTables",
    "Behind",
    "Count",
    "CountOptions",
    "Credential",
    "Entry",
    "Explanation",
    "Fault",
    "ForeignAddressError",
    "Index",
    "IndexTables",
    "IndexTablesError",
    "Options",
    "Page",
    "Patience",
    "ProblemError",
    "Suggestion",
    "UnreachableError",
    "Value",
    "seen",
]
