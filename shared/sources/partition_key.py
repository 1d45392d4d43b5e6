"""The partition key of a source's container: as declared, as the SDK takes it, and whether the container agrees.

A fact is fetched by the partition key that the definition finds in it. If the container has another partition key,
every fact looks gone, and facts that look gone are left out of lookups and removed from indexes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from shared.definitions.field_paths import segments
from shared.entries.keys.fact_key import MISSING
from shared.errors import FactsRefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue


_NO_QUOTES: Final = str.maketrans("", "", "\"'")


def partition_key_paths(source: Source) -> list[str]:
    """The paths as Cosmos DB takes them; a source that declares none has `/id`."""
    return ["".join(map(_step, segments(path) or (path,))) for path in source.partition_key] or ["/id"]


def _step(name: str) -> str:
    """Cosmos DB takes words as they are, and other names in quotes only."""
    if is_word(name):
        return f"/{name}"
    return f"/'{name}'" if '"' in name else f'/"{name}"'


def is_word(name: str) -> bool:
    """Whether a name has letters, digits and `_` only."""
    return re.fullmatch(r"\w+", name, re.ASCII) is not None


def check_partition_key(properties: Mapping[str, Any], source: Source) -> None:
    """Raise `FactsRefusedError` when a container, by its properties, has another partition key."""
    declared = partition_key_paths(source)
    found = [str(path) for path in properties["partitionKey"]["paths"]]
    # Words may be in quotes or not.
    if list(map(_without_quotes, found)) != list(map(_without_quotes, declared)):
        raise FactsRefusedError(
            f'The container of source "{source.name}" is partitioned by {", ".join(found)}, its definition says '
            f"{', '.join(declared)}: declare the container's own key, under a new name of the source."
        )


def _without_quotes(path: str) -> str:
    return path.translate(_NO_QUOTES)


def sdk_partition_key(partition_key: tuple[FactKeyValue, ...]) -> Any:
    """The partition key as the SDK takes it: one value as itself, several as a list."""
    from azure.cosmos.partition_key import NonePartitionKeyValue

    values = [NonePartitionKeyValue if value is MISSING else value for value in partition_key]
    return values[0] if len(values) == 1 else values
