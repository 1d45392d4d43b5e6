"""Counts every request to the Table service, by table and kind: each one is a billed storage transaction.

Repeated attempts count again, because they are billed again. An entity group transaction is one request,
whatever its size.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

CallKind = Literal["get", "transact", "query", "create", "delete", "list"]


class Counts:
    """Running totals; share one between clients to count a whole process."""

    def __init__(self) -> None:
        self._sent: Counter[tuple[str, CallKind]] = Counter()
        self._taken = 0

    def add(self, table: str, kind: CallKind) -> None:
        """One more request of this kind has been sent."""
        self._sent[table, kind] += 1

    def by_table_and_kind(self) -> Mapping[tuple[str, CallKind], int]:
        """The totals now, as a copy."""
        return dict(self._sent)

    def take(self) -> int:
        """All requests since the last call of this method."""
        total = self.total()
        taken, self._taken = total - self._taken, total
        return taken

    def total(self) -> int:
        """All requests sent so far."""
        return self._sent.total()
