"""Programs around builds: a container whose facts change, a generation that is built, switched to, and retired."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from shared.catalog.catalog import Catalog
from shared.catalog.rows import CatalogGeneration, ServingRow, write_source
from shared.entries.projection.generations import plan_of
from shared.errors import LifecycleRefusedError
from shared.lifecycle.build import CATCH_UP, Builds, BuildSources
from shared.lifecycle.generations import GenerationLifecycle, LifecycleTimes
from shared.pipeline.apply.services import Times
from shared.tables.port import Upsert
from shared.tasks.rows import Task, TaskRows
from shared.tasks.runner import TaskRunner, idle
from tests.simulation.histories import document
from tests.simulation.programs import NOW_SECONDS, StoppingQueue, accounts, new_process
from tests.simulation.steps import interleaved
from tests.worlds.building import KeptEvents, KeptFeed
from tests.worlds.kept_facts import FACT_TABLE, KeptFacts, stored
from tests.worlds.world import TOWNS, Writer, definitions_of, services_on

if TYPE_CHECKING:
    from shared.catalog.rows import GenerationPhase
    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.tables.port import Entity
    from tests.simulation.histories import Spec

CHANGED = TOWNS.replace("partition: town", "partition: phone")
SUMMARY = TOWNS.replace("partition: town, sort: name, project: [phone]", "partition: phone, summarize: {people: facts}")
OLD_DEFINITIONS = definitions_of(TOWNS)
SOURCE = OLD_DEFINITIONS.sources["people"]
KNOWS_OLD: SourcePlan = replace(plan_of(OLD_DEFINITIONS, "people"), buckets=1)
(OLD,) = KNOWS_OLD.generations


def changed_to(text: str) -> SourcePlan:
    """What is written to while a changed definition is built: the old generation and the new one."""
    (new,) = plan_of(definitions_of(text), "people").generations
    return replace(KNOWS_OLD, generations=(OLD, new))


KNOWS_BOTH = changed_to(CHANGED)
KNOWS_SUMMARY = changed_to(SUMMARY)


def _task(plan: SourcePlan) -> str:
    return f"build-{plan.generations[1].id}-1"


@dataclass(frozen=True, slots=True)
class Written:
    """One version of the fact: as its container has it, and as a change."""

    entity: Entity
    change: Change


def written(*specs: Spec) -> tuple[Written, ...]:
    """The versions of one fact; None says that it is deleted, in its document."""
    writer = Writer(OLD_DEFINITIONS, "people")
    found = []
    for number, spec in enumerate(specs, 1):
        content: dict[str, Any] = document(spec) or {"gone": True}
        found.append(Written(stored("people", "f", content, number), writer.change("f", content, number)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Live:
    """The application writes a version of a fact; then a worker that knows these generations applies it."""

    plan: SourcePlan
    version: Written

    async def __call__(self) -> None:
        """Apply it, in two attempts at most."""
        await accounts().main.transact(FACT_TABLE, [Upsert(self.version.entity)])
        await new_process().apply(self.plan, (self.version.change,))

    def __str__(self) -> str:
        return f"worker({len(self.plan.generations)} generations, v{self.version.change.version[30:35].lstrip('0')})"


@dataclass(frozen=True, slots=True)
class Enter:
    """The catalog after a changed definition was registered and its build requested."""

    builds: bool = True
    plan: SourcePlan = KNOWS_BOTH

    async def __call__(self) -> None:
        """Rows of the source, both generations, what serves, and the task."""
        new = self.plan.generations[1]
        tables = accounts().main
        catalog = Catalog(tables)
        for table in ("Catalog", "Tasks", FACT_TABLE):
            await tables.create_table(table)
        await catalog.write(write_source("people", 1))
        old = CatalogGeneration(OLD.id, "by-town", OLD.table, "standby", OLD.index, SOURCE, 0, 0)
        state: GenerationPhase = "building" if self.builds else "standby"
        await catalog.write(old, ServingRow("by-town", OLD.id))
        await catalog.write(replace(old, id=new.id, table=new.table, state=state, definition=new.index, entered_at=1))
        if self.builds:
            about = {"index": "by-town", "generation": new.id, "budget": None}
            await runner().start(Task(_task(self.plan), "build", about, NOW_SECONDS))


def runner(kind: type[Builds] = Builds) -> TaskRunner:
    """Long work whose claims run out at once, so that any worker takes over."""
    reached = accounts()
    services = services_on(
        reached,
        lambda: NOW_SECONDS,
        queue=StoppingQueue(),
        run_all=interleaved,
        times=Times(ledger_retention_seconds=10**6),
    )
    sources = BuildSources(KeptFeed(reached.main), KeptFacts(reached.main), KeptEvents())
    builds = kind(Catalog(reached.main), services, sources, lambda: 0.0, _no_sleep)
    return TaskRunner(TaskRows(reached.main), None, {"build": builds}, lambda: NOW_SECONDS, claim_seconds=0)


async def _no_sleep(seconds: float) -> None:
    raise AssertionError("there is no budget to wait for")


@dataclass(frozen=True, slots=True)
class Build:
    """A process that works on the build until it has ended; something else may happen before its second phase."""

    kind: type[Builds] = Builds
    between: Live | None = None
    plan: SourcePlan = KNOWS_BOTH

    async def __call__(self) -> None:
        """Slice after slice."""
        work, task = runner(self.kind), _task(self.plan)
        for _ in range(10):
            progress = await work.rows.read(task)
            assert progress is not None
            if progress.task.state != "running":
                assert progress.task.state == "done", progress.task.problem
                return
            if self.between is not None and progress.slices[-1].phase == CATCH_UP:
                await self.between()
            await interleaved([partial(work.work, task, name) for name in idle(progress, NOW_SECONDS)])
            await work.after(task)
        raise AssertionError("the build does not end")

    def __str__(self) -> str:
        return "build"


@dataclass(frozen=True, slots=True)
class Operator:
    """Switches, rolls back or tidies, with the definitions of one deployment."""

    call: Literal["switch", "rollback", "tidy"]
    text: str = CHANGED
    grace_seconds: int = -1

    async def __call__(self) -> None:
        """A refusal is an answer, too."""
        times = LifecycleTimes(lambda: NOW_SECONDS, 0, -1, self.grace_seconds)
        lifecycle = GenerationLifecycle(definitions_of(self.text), Catalog(accounts().main), runner(), times)
        try:
            if self.call == "switch":
                await lifecycle.switch("by-town", force=True)
            elif self.call == "rollback":
                await lifecycle.rollback("by-town")
            else:
                await lifecycle.retire_unwanted(accounts())
        except LifecycleRefusedError:
            return

    def __str__(self) -> str:
        return self.call
