"""Facts that looked different in a scan, until somebody looks at them again.

A scan can answer for some kinds of differences only: what the facts say is not in the ledger, what the ledger says is
not in the table, what the table shows is nobody's. So a fact that several scans suspect is counted once for each thing
that is wrong with it, however the suspects are cut into groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from shared.entries.keys.fact_key import MISSING
from shared.verification.examine import FactIdentity, Key
from shared.verification.scans import FACTS, LEDGER, TABLE

if TYPE_CHECKING:
    from shared.verification.findings import Difference

_ANSWERS: Final = {FACTS: ("unapplied",), LEDGER: ("missing", "stale", "orphan"), TABLE: ("ghost",)}
ALL_SCANS: Final = frozenset(_ANSWERS)


@dataclass(slots=True)
class Suspect:
    """A fact, the scans in which it differed, and pairs that were seen in the table."""

    who: FactIdentity
    scans: set[str] = field(default_factory=set)
    keys: set[Key] = field(default_factory=set)

    def answers_for(self, finding: Difference) -> bool:
        """Whether a difference is one that this suspicion may count. A ghost is the row that was seen."""
        if not any(finding.kind in _ANSWERS[scan] for scan in self.scans):
            return False
        return finding.kind != "ghost" or self.scans == ALL_SCANS or finding.key in self.keys

    def plain(self) -> list[Any]:
        """As JSON."""
        who = self.who
        key: list[Any] = [{} if value is MISSING else value for value in who.partition_key]
        return [who.fact_key, who.id, key, sorted(self.scans), sorted(map(list, self.keys))]

    @classmethod
    def of_plain(cls, plain: list[Any]) -> Suspect:
        """The suspect that `plain` gave."""
        fact_key, fact_id, key, scans, keys = plain
        partition_key = tuple(MISSING if value == {} else value for value in key)
        return cls(FactIdentity(fact_key, fact_id, partition_key), set(scans), {(one[0], one[1]) for one in keys})


class Suspects:
    """The suspects of one group, by fact."""

    def __init__(self, suspects: dict[str, Suspect] | None = None) -> None:
        self._by_fact = suspects or {}

    def __len__(self) -> int:
        return len(self._by_fact)

    def add(self, who: FactIdentity, scan: str, key: Key | None = None) -> None:
        """A scan has found this fact different, perhaps by a row that it saw."""
        suspect = self._by_fact.setdefault(
            who.fact_key, Suspect(who if who.id is not None else FactIdentity.of_key(who.fact_key))
        )
        suspect.scans.add(scan)
        if key is not None:
            suspect.keys.add(key)

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
        suspects = [Suspect.of_plain(one) for one in plain]
        return cls({suspect.who.fact_key: suspect for suspect in suspects})
