"""Facts that looked different in a scan, until they are examined.

A scan can answer for some kinds of differences only: what the facts say is not in the ledger, what the ledger says is
not in the table, what the table shows belongs to no fact. So a fact that several scans suspect is counted once for each
thing that is wrong with it, however the suspects are cut into groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from shared.entries.keys.fact_key import MISSING
from shared.verification.examine import EntryAddress, FactIdentity
from shared.verification.scans import FACTS, LEDGER, TABLE

if TYPE_CHECKING:
    from shared.verification.differences import Difference

_ANSWERS: Final = {FACTS: ("unapplied",), LEDGER: ("missing", "stale", "orphan"), TABLE: ("ghost",)}
ALL_SCANS: Final = frozenset(_ANSWERS)


@dataclass(slots=True)
class Suspect:
    """A fact, the scans in which it differed, and addresses of rows that were seen in the table."""

    fact: FactIdentity
    scans: set[str] = field(default_factory=set)
    addresses: set[EntryAddress] = field(default_factory=set)

    def answers_for(self, difference: Difference) -> bool:
        """Whether the scans that suspected the fact may count a difference. A ghost is the row that was seen."""
        if not any(difference.kind in _ANSWERS[scan] for scan in self.scans):
            return False
        return difference.kind != "ghost" or self.scans == ALL_SCANS or difference.address in self.addresses

    def plain(self) -> list[Any]:
        """As JSON."""
        fact = self.fact
        key: list[Any] = [{} if value is MISSING else value for value in fact.partition_key]
        return [fact.fact_key, fact.id, key, sorted(self.scans), sorted(map(list, self.addresses))]

    @classmethod
    def of_plain(cls, plain: list[Any]) -> Suspect:
        """The suspect that `plain` gave."""
        fact_key, fact_id, key, scans, addresses = plain
        partition_key = tuple(MISSING if value == {} else value for value in key)
        return cls(
            FactIdentity(fact_key, fact_id, partition_key),
            set(scans),
            {(partition, entry_key) for partition, entry_key in addresses},
        )


class Suspects:
    """The suspects of one group, by fact."""

    def __init__(self, suspects: dict[str, Suspect] | None = None) -> None:
        self._by_fact = suspects or {}

    def __len__(self) -> int:
        return len(self._by_fact)

    def add(self, fact: FactIdentity, scan: str, address: EntryAddress | None = None) -> None:
        """A scan has found this fact different, perhaps by a row that it saw."""
        suspect = self._by_fact.setdefault(
            fact.fact_key, Suspect(fact if fact.id is not None else FactIdentity.of_key(fact.fact_key))
        )
        suspect.scans.add(scan)
        if address is not None:
            suspect.addresses.add(address)

    def forget(self, fact_key: str) -> None:
        """Suspect this fact no more."""
        self._by_fact.pop(fact_key, None)

    def take(self) -> list[Suspect]:
        """All of them; none are left."""
        taken, self._by_fact = list(self._by_fact.values()), {}
        return taken

    def plain(self) -> list[Any]:
        """As JSON."""
        return [suspect.plain() for suspect in self._by_fact.values()]

    @classmethod
    def of_plain(cls, plain: list[Any]) -> Suspects:
        """The suspects that `plain` gave."""
        suspects = [Suspect.of_plain(suspect) for suspect in plain]
        return cls({suspect.fact.fact_key: suspect for suspect in suspects})
