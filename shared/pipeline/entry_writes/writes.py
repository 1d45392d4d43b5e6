"""What to write to the entry rows of a fact, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True)
class GenerationWrites:
    """The unconditional writes of one generation: live rows first, then tombstones at `version` for what is removed.

    `must_list`: it is not known which rows the entry keys have, so look before writing. `is_whole`: these are all the
    writes that the generation needs, so that it is finished after them.
    """

    generation: Generation
    version: str
    current: tuple[LiveWrite, ...]
    removed: tuple[Removal, ...]
    must_list: bool = False
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class EarlyRemoval:
    """Tombstones of a previous version, to be written before the claim lets go of them."""

    generation: Generation
    version: str
    removed: tuple[Removal, ...]
