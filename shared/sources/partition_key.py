"""The partition key of a source's container: as its definition says it, and whether the container agrees.

A fact is fetched by the partition key that the definition finds in it. If the container is partitioned by something
else, every fact looks gone, and what looks gone is left out of lookups and taken out of indexes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.definitions.field_paths import segments
from shared.errors import FactsRefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.definitions.model import Source


def partition_key_paths(source: Source) -> list[str]:
    """The paths as Cosmos DB writes them; a source that declares none has `/id`."""
    return ["/" + "/".join(segments(path) or (path,)) for path in source.partition_key] or ["/id"]


def check_partition_key(properties: Mapping[str, Any], source: Source) -> None:
    """Raise `FactsRefusedError` when a container, by its properties, is partitioned by something else."""
    declared = partition_key_paths(source)
    # A name that is no identifier may be in quotes or not.
    found = [str(path).replace('"', "") for path in properties["partitionKey"]["paths"]]
    if found != declared:
        raise FactsRefusedError(
            f'The container of source "{source.name}" is partitioned by {", ".join(found)}, its definition says '
            f"{', '.join(declared)}: declare the container's own key, under a new name of the source."
        )
