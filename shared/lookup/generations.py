"""Which generation of an index answers a lookup: the port, and what the definitions alone say.

The catalog of the pipeline knows more: a changed definition is served by its old generation, with its old definition,
until the new one is built and switched to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from shared.definitions.identity import generation_id, table_name
from shared.definitions.suggestions import did_you_mean_one_of
from shared.entries.keys.index_keys import IndexKeys
from shared.errors import UnknownIndexError
from shared.inputs.faults import shown

if TYPE_CHECKING:
    from shared.definitions.model import Definitions, Index, Source


@dataclass(frozen=True, slots=True)
class ReadableGeneration:
    """One physical build of an index, with the definition that it was built from."""

    id: str
    table: str
    index: Index
    source: Source
    keys: IndexKeys = field(repr=False)


class Generations(Protocol):
    """Knows the generations that can be read."""

    async def serving(self, index: str) -> ReadableGeneration:
        """The one that answers now; raises `UnknownIndexError`, or `IndexBuildingError` while there is none yet."""

    async def still_there(self, index: str, generation: str) -> ReadableGeneration | None:
        """The generation with this id, or None once it is retired."""


class DefinedGenerations:
    """Every index is served by the generation that its definition is."""

    def __init__(self, definitions: Definitions) -> None:
        self._generations = {
            index.name: generation_of(index, definitions.sources[index.source])
            for index in definitions.indexes.values()
        }

    async def serving(self, index: str) -> ReadableGeneration:
        """The generation of the index's definition."""
        try:
            return self._generations[index]
        except KeyError:
            raise unknown_index(index, self._generations) from None

    async def still_there(self, index: str, generation: str) -> ReadableGeneration | None:
        """The same, if it is the one that is meant."""
        found = self._generations.get(index)
        return found if found is not None and found.id == generation else None


def generation_of(index: Index, source: Source) -> ReadableGeneration:
    """The generation that a definition is."""
    identity = generation_id(index, source)
    return ReadableGeneration(identity, table_name(index, identity), index, source, IndexKeys(index))


def unknown_index(name: str, known: dict[str, ReadableGeneration]) -> UnknownIndexError:
    """The error for a name that no index has."""
    return UnknownIndexError(f"There is no index {shown(name)}. {did_you_mean_one_of(name, known)}")
