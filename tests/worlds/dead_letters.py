"""Dead letters for tests: code that had a fault, and the service that replays after it is fixed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shared.entries.projection.projector import Projector
from shared.errors import UnprojectableError
from shared.pipeline.concurrency import AtOnce
from shared.pipeline.dead_letters.listing import DeadLetterFilter, DeadLetterList
from shared.pipeline.dead_letters.replay import Replayer
from shared.pipeline.dead_letters.service import DeadLetterService, KnownNames
from tests.worlds.world import services_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.definitions.model import Definitions
    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.entries.projection.projector import Entry
    from shared.pipeline.cleanup.messages import SweepQueue
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.dead_letters.documents import Blobs
    from shared.pipeline.dead_letters.replay import Replayed
    from shared.pipeline.dead_letters.rows import StoredDeadLetter
    from shared.pipeline.dead_letters.store import DeadLetterStore
    from shared.tables.accounts import Accounts
    from tests.worlds.world import World

DAY_SECONDS = 86_400
RETENTION_SECONDS = 14 * DAY_SECONDS


class Refusing(Projector):
    """Projects nothing: code that had a fault when it saw a change."""

    def project(self, change: Change) -> tuple[Entry, ...]:
        """Refuse what is not a delete."""
        if change.document is None:
            return ()
        raise UnprojectableError("The code has a fault: fix it.", "notEvaluable")


def refusing(plan: SourcePlan, definitions: Definitions) -> SourcePlan:
    """The same plan with code that has a fault."""
    source = definitions.sources[plan.source]
    broken = [replace(generation, projector=Refusing(generation.index, source)) for generation in plan.generations]
    return replace(plan, generations=tuple(broken))


def new_replayer(
    definitions: Definitions,
    plan: SourcePlan,
    accounts: Accounts,
    queue: SweepQueue,
    run_all: RunAll,
    now_seconds: Callable[[], float],
    blobs: Blobs | None = None,
) -> tuple[Replayer, DeadLetterList]:
    """Replays as a worker makes them, on any storage."""
    services = services_on(accounts, now_seconds, queue=queue, blobs=blobs, run_all=run_all)
    store = services.dead_letter_store()
    listing = DeadLetterList(accounts.main, store)

    async def plans() -> dict[str, SourcePlan]:
        return {plan.source: plan}

    return Replayer(definitions, plans, services.new_applier, store, listing, RETENTION_SECONDS, now_seconds), listing


def dead_letter_service_of(world: World) -> DeadLetterService:
    """The dead letter service of an app with the world's current definitions and plan."""

    def now_seconds() -> float:
        return world.now_seconds

    store = dead_letter_store_of(world)
    replayer, listing = new_replayer(
        world.definitions, world.plan, world.accounts, world.queue, AtOnce(), now_seconds, blobs=world.blobs
    )

    async def known() -> KnownNames:
        return KnownNames((world.plan.source,), tuple(world.definitions.indexes))

    return DeadLetterService(known, store, listing, replayer, AtOnce(), RETENTION_SECONDS, now_seconds)


def dead_letter_store_of(world: World, blobs: Blobs | None = None) -> DeadLetterStore:
    """The dead letters of a world."""
    return services_on(
        world.accounts, lambda: world.now_seconds, blobs=world.blobs if blobs is None else blobs
    ).dead_letter_store()


async def dead_letters_of(world: World) -> list[StoredDeadLetter]:
    """Every dead letter of the world's source."""
    page = await dead_letter_service_of(world).page(DeadLetterFilter(), 1000, None)
    assert page.last is None
    return page.dead_letters


async def replay_all(world: World) -> list[Replayed]:
    """Replay every dead letter."""
    return await dead_letter_service_of(world).replay(await dead_letters_of(world))


async def fail_with_a_fault(world: World, **documents: dict[str, Any] | None) -> None:
    """Apply documents with code that refuses them all, until it is fixed."""
    good = world.plan
    world.plan = refusing(good, world.definitions)
    await world.apply(*[world.writer.change(fact, document) for fact, document in documents.items()])
    world.plan = good


def results(done: list[Replayed]) -> list[str]:
    """What became of dead letters, in order."""
    return sorted(each.result for each in done)
