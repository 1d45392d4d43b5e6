"""What a verification found, in numbers and examples, as it goes on and at its end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from shared.entries.keys.fact_key import MISSING
from shared.entries.keys.index_keys import row_key
from shared.verification.differences import KINDS
from shared.verification.report_json import FoundCountsJson, WorkCountsJson

if TYPE_CHECKING:
    from shared.verification.differences import Difference, DifferenceKind
    from shared.verification.examine import FactIdentity
    from shared.verification.report_json import DifferenceJson, DifferenceReportJson, VerificationCountsJson

EXAMPLES_MAX: Final = 20
# In a report only while an account was down.
OWING: Final = "owing"
# In a report only of a source whose facts come as events: events that were read, and facts that no event told of.
EVENTS: Final = "events"
UNTOLD: Final = "untold"
_RARE: Final = (OWING, EVENTS, UNTOLD)
COUNTS: Final = tuple(FoundCountsJson.__annotations__)
MORE_COUNTS: Final = tuple(WorkCountsJson.__annotations__)


@dataclass(slots=True)
class DifferenceReport:
    """Counts of what was seen, of differences by kind, and a few of them."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: Counter[DifferenceKind] = field(default_factory=Counter)
    examples: list[DifferenceJson] = field(default_factory=list)

    @property
    def total(self) -> int:
        """All differences."""
        return self.differences.total()

    def note(self, fact: FactIdentity, difference: Difference, *, has_versions: bool = True) -> None:
        """One more difference. RowKeys of a summary have no version in them."""
        self.differences[difference.kind] += 1
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(_example(fact, difference, has_versions=has_versions))

    def plain(self) -> DifferenceReportJson:
        """As JSON."""
        counts = {name: self.counts[name] for name in (*COUNTS, *MORE_COUNTS)}
        counts |= {name: self.counts[name] for name in _RARE if self.counts[name]}
        return {
            **cast("VerificationCountsJson", counts),
            "differences": {kind: self.differences[kind] for kind in KINDS},
            "total": self.total,
            "examples": list(self.examples),
        }

    @classmethod
    def of_plain(cls, plain: dict[str, Any]) -> DifferenceReport:
        """The report that `plain` gave."""
        counts = Counter({name: plain[name] for name in (*COUNTS, *MORE_COUNTS)})
        counts.update({name: plain.get(name, 0) for name in _RARE})
        return cls(counts, Counter(plain["differences"]), list(plain["examples"]))


def _example(fact: FactIdentity, difference: Difference, *, has_versions: bool) -> DifferenceJson:
    example: DifferenceJson = {"kind": difference.kind, "factKey": fact.fact_key}
    if fact.id is not None:
        key: list[Any] = [{} if value is MISSING else value for value in fact.partition_key]
        example |= {"id": fact.id, "partitionKey": key[0] if len(key) == 1 else key}
    if difference.address is not None:
        partition, entry_key = difference.address
        version = difference.version
        stored_at = row_key(entry_key, version) if has_versions else entry_key
        example |= {"PartitionKey": partition, "RowKey": stored_at, "version": version}
    return example
