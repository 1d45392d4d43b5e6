"""How much memory the entries of a batch may take: what is over it waits until the part before it is written.

A document of 32 KB whose thousand entries each repeat most of it has 25 MB of entries, and one page of a feed may bring
a hundred such documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shared.entries.projection.project_all import GenerationEntries

HELD_BYTES_MAX: Final = 64 * 1024 * 1024
# So few entries of a fact are not much larger than its document, and are not worth counting.
FEW_ENTRIES: Final = 16


class HeldEntries:
    """The entries of one part of a batch."""

    def __init__(self) -> None:
        self._left = HELD_BYTES_MAX

    @property
    def is_full(self) -> bool:
        """Whether other facts have to wait. It never is before the first one, so that every part gets on."""
        return self._left <= 0

    def add(self, projected: GenerationEntries) -> None:
        """Hold the entries of a fact in one generation, too."""
        for entry in projected.entries:
            self._left -= sum([len(value) for value in entry.columns.values() if isinstance(value, str)])
