"""What must hold of the service once everything has come to rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.pipeline.dead_letters.rows import dead_letter_id
from tests.simulation.debts import debts_in
from tests.simulation.steps import ViolationError
from tests.simulation.truth import dead_letters_in, difference, expected, expected_dead_letters, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.tables.memory.store import Store


@dataclass(frozen=True, slots=True)
class Checks:
    """The indexes and dead letters against the newest versions of all facts.

    Dead letters of facts that were not `delivered` may have been purged.
    """

    plan: SourcePlan
    newest: Sequence[Change]
    delivered: Collection[str]
    store: Store
    now_seconds: float

    def all(self, moment: str) -> None:
        """Every index, the dead letters, and the debts: all are paid."""
        self.entries(moment)
        self.dead_letters(moment)
        if text := debts_in(self.store, self.plan):
            raise ViolationError(f"{moment}: {text}")

    def entries(self, moment: str) -> None:
        """Every index shows the newest facts."""
        for generation in self.plan.generations:
            if text := difference(generation, self.newest, self.store, self.now_seconds):
                raise ViolationError(f"{moment}: {text}")

    def dead_letters(self, moment: str) -> None:
        """There is one for each newest version that does not fit, and no other."""
        delivered = [change for change in self.newest if change.fact_key in self.delivered]
        due = expected_dead_letters(self.plan.generations, delivered)
        possible = expected_dead_letters(self.plan.generations, self.newest)
        found = dead_letters_in(self.store, self.plan.source)
        if not due.items() <= found.items() <= possible.items():
            raise ViolationError(f"{moment}: dead letters: due {due}, possible {possible}, found {found}")

    def traces(self) -> None:
        """A change that an index does not show has a dead letter, its only trace."""
        dead_letters = dead_letters_in(self.store, self.plan.source)
        for generation in self.plan.generations:
            wanted = expected(generation, self.newest, self.now_seconds)
            wrong = {entry_key for _, entry_key, _ in wanted ^ shown(generation, self.store, self.now_seconds)}
            for change in self.newest:
                dead_letter = dead_letter_id(self.plan.source, change.fact_key, generation.index.name)
                is_wrong = any(entry_key.endswith(change.fact_key) for entry_key in wrong)
                if is_wrong and dead_letters.get(dead_letter) != change.version:
                    raise ViolationError(f"index {generation.index.name} lacks {change.id}, and nothing says so")
