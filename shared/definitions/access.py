"""Who may call: the roles that `indexes.yaml` asks for, and the key parts that must equal a claim of the caller.

Kept beside the indexes and not in them: it decides no row, so that a change of it makes no new generation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

READER: Final = "Index.Read"
OPERATOR: Final = "Index.Operate"


@dataclass(frozen=True, slots=True)
class IndexAccess:
    """What one index asks for. `bind` says which part must equal which claim."""

    readers: tuple[str, ...]
    bind: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """The roles of a file: one of `readers` may look up, one of `operators` may call what operators call."""

    readers: tuple[str, ...] = (READER,)
    operators: tuple[str, ...] = (OPERATOR,)
    indexes: Mapping[str, IndexAccess] = field(default_factory=dict)

    def of(self, index: str) -> IndexAccess:
        """What an index asks for: its own rules, or those of the file."""
        return self.indexes.get(index) or IndexAccess(self.readers)

    def plain(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "readers": self.readers,
            "operators": self.operators,
            "indexes": {name: {"readers": one.readers, "bind": one.bind} for name, one in self.indexes.items()},
        }


def access_from_plain(fields: Mapping[str, Any]) -> Access:
    """What `Access.plain` made these fields of."""
    return Access(
        tuple(fields["readers"]),
        tuple(fields["operators"]),
        {
            name: IndexAccess(tuple(one["readers"]), tuple((part, claim) for part, claim in one["bind"]))
            for name, one in fields["indexes"].items()
        },
    )
