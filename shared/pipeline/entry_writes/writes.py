"""What to write to the entry rows of a fact, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.entries.projection.generations import Generation
    from shared.entries.rows.columns import Columns


class LiveWrite(NamedTuple):
    """A row to write: the entry's columns at `version`, in place of the row of its entry key at `replaces`."""

    partition: str
    entry_key: str
    version: str
    columns: Columns
    replaces: str | None


class Removal(NamedTuple):
    """An entry to hide with a tombstone, in place of its row at `replaces`; None when that is most likely gone."""

    partition: str
    entry_key: str
    replaces: str | None


class GenerationWrites(NamedTuple):
    """The unconditional writes of one generation in one account: live rows first, then tombstones at `version` for
    removed entries.

    `must_list`: it is not known which rows the entry keys have, so list them before writing. `is_whole`: the generation
    needs no other writes, so it is finished after these.
    """

    generation: Generation
    version: str
    current: tuple[LiveWrite, ...]
    removed: tuple[Removal, ...]
    must_list: bool = False
    is_whole: bool = True
    # The storage account that all of them are in; empty for those of a repair, which may be in several.
    account: str = ""


@dataclass(frozen=True, slots=True)
class EarlyRemoval:
    """Tombstones of a previous version, to be written before a claim drops their entries from the ledger row."""

    generation: Generation
    version: str
    removed: tuple[Removal, ...]


T = TypeVar("T", GenerationWrites, EarlyRemoval)


def apart(all_writes: Iterable[tuple[str, T]]) -> tuple[list[tuple[str, T]], list[tuple[str, T]]]:
    """The writes of summaries, and those of all other indexes."""
    of_summaries: list[tuple[str, T]] = []
    of_entries: list[tuple[str, T]] = []
    for fact, writes in all_writes:
        (of_entries if writes.generation.layout is None else of_summaries).append((fact, writes))
    return of_summaries, of_entries
