"""Where timers, builds and verifications go on may be a key of a fact: it goes with their next step or their end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from shared.app.app import App
from shared.app.settings import Settings
from shared.catalog.rows import CATALOG_TABLE
from shared.pipeline.cleanup.expiry import ExpiryWalk
from shared.pipeline.ledger.retention import Retention
from shared.pipeline.ledger.rows import LEDGER_TABLE
from shared.tables.memory.memory_tables import MemoryTables
from shared.tasks.rows import TASK_TABLE
from shared.verification.assembly import (
    RepairOptions,
    Subject,
    VerificationDependencies,
    new_confirmer,
    new_sampling,
    new_verification,
)
from shared.verification.confirm import GracePeriod
from shared.verification.report import DifferenceReport
from shared.verification.rows import VERIFICATION_TABLE, SavedVerification, VerificationRows
from shared.verification.service import VerificationService
from shared.verification.verify import ScanState
from tests.rooms.erasure.everything import tables_with
from tests.support import ROOT
from tests.worlds.building import BUILD_DELAY_SECONDS, CHANGED, GRACE_SECONDS, REFRESH_SECONDS, BuildingWorld
from tests.worlds.kept_facts import KeptFacts
from tests.worlds.verifying import iter_chance, report_nothing
from tests.worlds.world import TOWNS, nothing_listed

if TYPE_CHECKING:
    from shared.app.parts import Parts
    from shared.tables.port import Page

DAY_SECONDS = 86_400
# Every fact has it in its id, and so has every key.
SECRET = "ann.3f1c9a52d7"
OTHER_INDEX = TOWNS.replace("by-town", "by-other")
OTHER_SOURCE = TOWNS.replace("people", "others")
EXPIRING = TOWNS.replace("project: [phone]", "project: [phone], expire: {path: until, after: 1d}")


class SmallPages(MemoryTables):
    """Walks through facts and entries stop behind every second row."""

    async def query(self, table: str, *args: Any, limit: int | None = None, **options: Any) -> Page:
        if table not in {CATALOG_TABLE, TASK_TABLE, VERIFICATION_TABLE}:
            limit = min(limit or 2, 2)
        return await super().query(table, *args, limit=limit, **options)


class Walks(BuildingWorld):
    """Facts enough for every walk to stop in the middle."""

    def __init__(self) -> None:
        super().__init__(SmallPages())

    async def start(self, text: str = TOWNS) -> Parts:
        """An app with facts."""
        parts = await self.parts(text)
        for number in range(60):
            await self.write(parts.worker, f"{number}.{SECRET}", town="t", phone="1")
        return parts

    def places(self) -> set[str]:
        """Where a bookmark still has a key."""
        assert isinstance(self.tables, MemoryTables)
        found = tables_with(self.tables, SECRET.encode())
        assert LEDGER_TABLE in found
        return found & {CATALOG_TABLE, TASK_TABLE, VERIFICATION_TABLE}

    async def subject(self, parts: Parts) -> Subject:
        """What is verified."""
        plan = (await parts.write_plans.current())["people"]
        return Subject(plan, parts.definitions.sources["people"], plan.generations[0])

    def dependencies(self) -> VerificationDependencies:
        """What a process that verifies has."""
        grace, chance = GracePeriod(0, 0, asyncio.sleep), iter_chance().__next__
        facts = KeptFacts(self.tables)
        return VerificationDependencies(self.services(), facts, grace, chance, lambda: self.seconds, report_nothing)

    async def verifications_are_due(self, text: str) -> None:
        """The timer that starts verifications, in an app that starts none by itself."""
        parts, rows = await self.parts(text), VerificationRows(self.tables)
        service = VerificationService(parts.definitions, self.catalog, self.runner(), rows, lambda: self.seconds)
        app = App(ROOT, Settings({"VERIFY_SAMPLE": "0", "VERIFY_FULL_DAYS": "0"}))
        vars(parts)["verification_service"] = service
        vars(app)["triggers"] = parts
        await app.start_due_verifications()

    async def retire(self, text: str) -> None:
        """What these definitions do not want any more goes."""
        for seconds in (1, GRACE_SECONDS + 1, BUILD_DELAY_SECONDS + 1):
            self.seconds += seconds
            await self.lifecycle(text).retire_unwanted(self.accounts)
        self.seconds += REFRESH_SECONDS + 1


@pytest.fixture
def world() -> Walks:
    """Everything in memory."""
    return Walks()


def retention(world: Walks) -> Retention:
    """What the timer uses."""
    return Retention(world.tables, 0, lambda: world.seconds, nothing_listed)


async def test_the_retention_keeps_no_key_at_the_end_of_its_round(world: Walks) -> None:
    """In the middle it does."""
    parts = await world.start()
    await retention(world).clean((await parts.write_plans.current()).values(), pages=1)
    assert world.places() == {CATALOG_TABLE}
    await parts.maintenance.forget_deleted_facts()
    assert world.places() == set()


async def test_the_retention_keeps_no_key_of_a_source_that_left_the_file(world: Walks) -> None:
    """It never takes another step there."""
    parts = await world.start()
    await retention(world).clean((await parts.write_plans.current()).values(), pages=1)
    assert world.places() == {CATALOG_TABLE}
    await (await world.parts(OTHER_SOURCE)).maintenance.forget_deleted_facts()
    assert world.places() == set()


async def test_the_expiry_keeps_no_key_at_the_end_of_its_round(world: Walks) -> None:
    """Nor of a table that is gone."""
    parts = await world.start(EXPIRING)
    plans = (await parts.write_plans.current()).values()
    walk = ExpiryWalk(world.accounts, world.sweeps, lambda: world.seconds, 0)
    await walk.walk(plans, pages=1)
    assert world.places() == {CATALOG_TABLE}
    await walk.walk(plans)
    assert world.places() == set()
    await walk.walk(plans, pages=1)
    assert world.places() == {CATALOG_TABLE}
    await walk.walk([])
    assert world.places() == set()


async def test_a_sample_keeps_no_key_of_a_generation_that_is_gone(world: Walks) -> None:
    """No sample is taken of it any more."""
    parts = await world.start()
    subject, dependencies = await world.subject(parts), world.dependencies()
    confirmer = new_confirmer(subject, dependencies, RepairOptions())
    await new_sampling(subject, dependencies).run(2, confirmer, DifferenceReport(), pages=1)
    assert world.places() == {CATALOG_TABLE}
    await world.verifications_are_due(TOWNS)
    assert world.places() == {CATALOG_TABLE}
    await world.retire(OTHER_INDEX)
    await world.verifications_are_due(OTHER_INDEX)
    assert world.places() == set()


async def test_a_verification_keeps_no_key_at_its_end(world: Walks) -> None:
    """While it runs, its state has the key that it reads behind."""
    subject = await world.subject(await world.start())
    rows, state, places = VerificationRows(world.tables), ScanState(), set()
    saved = SavedVerification(state)
    verification = new_verification(subject, world.dependencies(), RepairOptions(), state)
    while not verification.is_done:
        await verification.step()
        written = await rows.save("by-town", "verification-1", saved)
        assert written is not None
        saved = written
        places |= world.places()
    assert places == {VERIFICATION_TABLE}
    assert world.places() == set()


async def test_an_app_that_verifies_nothing_by_itself_forgets_reports(world: Walks) -> None:
    """Those of an operator's verification, whose task is gone."""
    await world.start()
    state = ScanState(cursor=[f"0.{SECRET}"])
    await VerificationRows(world.tables).save("by-town", "verification-1", SavedVerification(state))
    assert world.places() == {VERIFICATION_TABLE}
    await world.verifications_are_due(TOWNS)
    assert world.places() == set()


async def build_in_steps(world: Walks) -> list[set[str]]:
    """A build that catches up with a fact of a late worker, one step for each message; where its key was after each."""
    late = (await world.start()).worker
    await world.worker(CHANGED)
    runner = replace(world.runner(), slice_seconds=0)
    progress = await world.lifecycle(CHANGED, runner).build("by-town")
    world.seconds = progress.task.not_before
    await runner.work(progress.task.id, progress.slices[0].name)
    late._plans._read_at_seconds = world.seconds  # it believes that its view is new
    await world.write(late, f"late.{SECRET}", town="t", phone="1")
    places: list[set[str]] = []
    for _ in range(100):
        found = await world.rows.read(progress.task.id)
        assert found is not None
        if found.task.state != "running":
            return places
        for work_slice in found.slices:
            await runner.work(progress.task.id, work_slice.name)
            places.append(world.places())
    raise AssertionError("the build does not end")


async def test_a_build_keeps_no_key_at_its_end(world: Walks) -> None:
    """Though its task is listed for a month."""
    places = await build_in_steps(world)
    assert {TASK_TABLE} in places
    assert len(await world.rows.all()) == 1
    assert world.places() == set()


async def test_a_build_that_failed_keeps_its_key_for_thirty_days(world: Walks, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is forgotten as a whole."""
    kept: list[set[str]] = []
    original = world.rows.save

    async def save_until_a_key_is_kept(work_slice: Any) -> Any:
        saved = await original(work_slice)
        if not kept and world.places():
            kept.append(world.places())
            world.seconds += world.services().times.ledger_retention_seconds
        return saved

    monkeypatch.setattr(world.rows, "save", save_until_a_key_is_kept)
    await build_in_steps(world)
    (task,) = await world.rows.all()
    assert (task.state, world.places()) == ("failed", {TASK_TABLE})
    world.seconds += 30 * DAY_SECONDS + 1
    await world.runner().resume()
    assert world.places() == set()


async def test_a_read_only_generation_keeps_a_deleted_fact_until_it_is_dropped(world: Walks) -> None:
    """Nobody writes there any more; its table goes as a whole, and what the ledger says of it with the retention."""
    phone = f"phone.{SECRET}"
    parts = await world.parts(TOWNS)
    await world.write(parts.worker, SECRET, town="t", phone=phone)
    parts = await world.parts(CHANGED)
    world.seconds += BUILD_DELAY_SECONDS
    frozen = await world.lifecycle(CHANGED).make_read_only("by-town")
    await world.write(parts.worker, SECRET, town="t", phone=phone, gone=True)
    await world.remove(SECRET)
    await world.build(CHANGED)
    await world.catalog.note_verified((await world.generations())["standby"], 0, world.seconds)
    served = await world.lifecycle(CHANGED).switch("by-town")
    assert isinstance(world.tables, MemoryTables)
    assert tables_with(world.tables, phone.encode()) == {frozen.table}
    # The lookups have switched, its grace; then nobody reads it any more.
    for seconds in (served.since - world.seconds + 3, BUILD_DELAY_SECONDS + 1):
        world.seconds += seconds
        await world.lifecycle(CHANGED).retire_unwanted(world.accounts)
    assert tables_with(world.tables, SECRET.encode()) == {LEDGER_TABLE}
    world.seconds += world.services().times.ledger_retention_seconds
    for _ in range(2):
        world.seconds += DAY_SECONDS
        await parts.maintenance.forget_deleted_facts()
        for message in world.sweeps.messages:
            await parts.maintenance.sweep(message)
    assert tables_with(world.tables, SECRET.encode()) == set()
