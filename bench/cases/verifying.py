"""A verification as the workload runs it: facts that a worker applied, and a container's feed that costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.cases.pipeline import BATCH, Pipeline
from shared.entries.projection.generations import plan_of
from shared.sources.current_facts import FactPage
from shared.verification.assembly import RepairOptions, Subject, VerificationDependencies, new_verification
from shared.verification.confirm import GracePeriod
from shared.verification.verify import ScanState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.cases.facts import Fact
    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue
    from shared.tables.port import Tables
    from shared.verification.report import DifferenceReport


class Container:
    """The port `CurrentFacts` over a list of facts."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = facts
        self._by_id = {fact["id"]: fact for fact in facts}

    async def read(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...]
    ) -> dict[str, Any] | None:
        """One fact."""
        return self._by_id.get(fact_id)

    async def from_feed(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...], since_seconds: int
    ) -> dict[str, Any] | None:
        """One fact."""
        return self._by_id.get(fact_id)

    async def page(self, source: Source, cursor: str | None, until_seconds: float) -> FactPage:
        """A thousand facts."""
        start = int(cursor or 0)
        after = start + BATCH
        return FactPage(self._facts[start:after], str(after) if after < len(self._facts) else None)


class Verifying:
    """One index on any Table service, and its verification."""

    def __init__(self, tables: Tables, yaml: str, facts: Sequence[Fact]) -> None:
        self._tables = tables
        self._yaml = yaml
        self._facts = facts

    async def prepare(self) -> None:
        """Apply the facts."""
        self._pipeline = Pipeline(self._yaml, self._tables)
        await self._pipeline.prepare()
        await self._pipeline.apply(self._facts)

    @property
    def subject(self) -> Subject:
        """The one index."""
        definitions, source = self._pipeline.definitions, self._pipeline.source
        plan = plan_of(definitions, source)
        return Subject(plan, definitions.sources[source], plan.generations[0])

    async def run(self) -> DifferenceReport:
        """From the beginning to the end."""
        state = ScanState()
        verification = new_verification(self.subject, self._dependencies(), RepairOptions(), state)
        while not verification.is_done:
            await verification.step()
        return state.report

    def _dependencies(self) -> VerificationDependencies:
        return VerificationDependencies(
            self._pipeline.parts.services,
            Container(self._facts),
            GracePeriod(0, 0, _no_pause),
            lambda: 0.0,
            lambda: 0.0,
            lambda index, sample, report: None,
        )


async def _no_pause(seconds: float) -> None:
    """Nothing is written meanwhile."""
