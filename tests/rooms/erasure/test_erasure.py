"""What is left of a deleted fact, read from a whole storage account: docs/erasure.md has a row for each test."""

from __future__ import annotations

import asyncio
import random
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from azure.storage.blob.aio import ContainerClient
from azure.storage.queue import TextBase64DecodePolicy, TextBase64EncodePolicy
from azure.storage.queue.aio import QueueClient

from local.host.triggers.queues import set_aside
from shared.app.parts import Parts
from shared.app.queues_and_blobs import BlobContainer, DelayedQueue
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.erasure.remains import FactAddress
from shared.errors import LifecycleRefusedError
from shared.lifecycle.generations import GenerationLifecycle, LifecycleTimes
from shared.pipeline.apply.services import Times
from shared.tables.accounts import Accounts
from shared.tables.memory.memory_tables import MemoryTables
from shared.tasks.rows import TaskRows
from shared.tasks.runner import TaskRunner
from shared.verification.assembly import RepairOptions, Subject, VerificationDependencies, new_verification
from shared.verification.confirm import GracePeriod
from shared.verification.differences import Difference
from shared.verification.examine import FactIdentity
from shared.verification.rows import SavedVerification, VerificationRows
from shared.verification.service import VerificationSchedule, VerificationService
from shared.verification.verify import ScanState
from tests.contract.tables.table_services import key_client
from tests.rooms.erasure.everything import life_of, places_with
from tests.worlds.kept_facts import FACT_TABLE, KeptFacts
from tests.worlds.verifying import iter_chance, report_nothing
from tests.worlds.world import definitions_of, services_on

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

DEFINITIONS = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-mail: {source: people, partition: town, sort: mail, project: [phone, mail]}
  by-age: {source: people, partition: town, sort: {path: age, type: integer}, project: [mail]}
  weekly: {source: people, partition: town, sort: mail, project: [mail], expire: {path: until, after: 9d, tables: week}}
  per-mail: {source: people, partition: town, sort: mail, summarize: {people: facts, oldest: {max: age}}}
"""
INDEX_TABLES = ("bymail", "byage", "weekly", "permail")
TIMES = Times()
DAY = 86_400
SECRET = f"ann.{uuid.uuid4().hex}"
# What the fact is called, and what is said of it. The id stays until the retention; the rest does not.
ID, MAIL = f"id.{SECRET}", f"mail.{SECRET}"


@dataclass
class Run:
    """An app over an Azurite of its own, and its clock."""

    connection: str
    queue: QueueClient
    parts: Parts
    clock: list[float]
    sent: int = field(default=0)

    async def write(self, **document: Any) -> None:
        """A version of the fact arrives."""
        self.sent += 1
        seconds = int(self.clock[0])
        shown = {"id": ID, "_ts": seconds, "_lsn": self.sent, "_etag": f'"{self.sent}"', **document}
        await self.parts.worker.apply_latest("people", [shown])

    async def sweep(self) -> None:
        """The sweep delay passes, and every message that was sent before arrives."""
        self.clock[0] += TIMES.sweep_delay_seconds
        waiting = [message async for message in self.queue.receive_messages(messages_per_page=32)]
        for message in waiting:
            await self.parts.maintenance.sweep(message.content)
            await self.queue.delete_message(message)

    async def timers(self, days: int) -> None:
        """Every timer that cleans, once a day."""
        for _ in range(days):
            self.clock[0] += DAY
            await self.parts.maintenance.forget_deleted_facts()
            await self.parts.maintenance.find_expired()
            await self.parts.dead_letters.purge_all()
            await self.parts.orphaned_blobs.remove()

    async def set_sweeps_aside(self) -> QueueClient:
        """Every sweep fails five times; the queue that the host moves their messages to."""
        poison = QueueClient.from_connection_string(self.connection, "index-sweep-poison")
        async with QueueClient.from_connection_string(self.connection, "index-sweep") as queue:
            async for message in queue.receive_messages():
                await set_aside(message, queue, poison)
        return poison

    async def verify_all(self) -> None:
        """A full verification of every index. The container has no facts any more."""
        facts, grace = MemoryTables(), GracePeriod(0, 0, asyncio.sleep)
        await facts.create_table(FACT_TABLE)
        chance, now = iter_chance().__next__, lambda: self.clock[0]
        found = VerificationDependencies(self.parts.services, KeptFacts(facts), grace, chance, now, report_nothing)
        plan = (await self.parts.write_plans.current())["people"]
        for generation in plan.generations:
            subject = Subject(plan, self.parts.definitions.sources["people"], generation)
            verification = new_verification(subject, found, RepairOptions(), ScanState())
            while not verification.is_done:
                await verification.step()

    def places(self, secret: str) -> list[str]:
        """Where in the account it is found."""
        return places_with(self.connection, secret.encode())

    async def tell(self) -> list[str]:
        """What is left, as an operator sees it."""
        return [remnant.place for remnant in (await self.parts.eraser.look(FACT)).remnants]


FACT = FactAddress("people", ID, (ID,))


@pytest.fixture
async def run(own_azurite: str) -> AsyncIterator[Run]:
    clock = [1_800_000_000.0]
    policies: dict[str, Any] = {
        "message_encode_policy": TextBase64EncodePolicy(),
        "message_decode_policy": TextBase64DecodePolicy(),
    }
    async with (
        key_client(own_azurite) as tables,
        QueueClient.from_connection_string(own_azurite, "index-sweep", **policies) as queue,
        ContainerClient.from_connection_string(own_azurite, "dead-letters") as container,
    ):
        await queue.create_queue()
        services = services_on(
            Accounts({DEFAULT_ACCOUNT: tables}),
            lambda: clock[0],
            queue=DelayedQueue(queue, 0, TIMES.sweep_life_seconds),
            blobs=BlobContainer(container, lambda: uuid.uuid4().hex),
            times=TIMES,
        )
        yield Run(own_azurite, queue, await Parts(definitions_of(DEFINITIONS), services).ready(), clock)


def noise(size: int) -> str:
    """Text that no compression makes small."""
    return random.Random(1).randbytes(size // 2).hex()


def person(**changed: Any) -> dict[str, Any]:
    return {"town": "A", "mail": MAIL, "phone": SECRET, "age": 30, "until": "2027-01-20T00:00:00Z", **changed}


async def deleted_after_much(run: Run) -> None:
    """A fact with entries, a total, entries of a period and a large dead letter, which moved and was deleted."""
    await run.write(**person())
    await run.write(**person(town="B"))
    await run.write(**person(mail=f"other.{MAIL}"))
    await run.write(**person(age=f"none of {SECRET}", note=noise(1_200_000)))
    assert run.places(SECRET)
    await run.write(gone=True)


async def test_what_entries_carry_goes_with_the_delete(run: Run) -> None:
    """Values that are in no key, also those of an earlier version."""
    values = [uuid.uuid4().hex for _ in range(2)]
    for value in values:
        await run.write(**person(phone=value))
    assert run.places(values[1])
    await run.write(gone=True)
    assert [run.places(value) for value in values] == [[], []]


async def test_after_a_delete_only_tombstones_ledger_and_messages_have_its_values(run: Run) -> None:
    """No dead letter and no blob of it is open any more."""
    await deleted_after_much(run)
    places = run.places(MAIL)
    assert [place for place in places if place in {"DeadLetters", "dead-letters", "Catalog"}] == []
    assert {"Ledger", "index-sweep"} <= {*places}


async def test_two_sweep_delays_later_only_its_key_is_left_in_the_ledger(run: Run) -> None:
    """The keys of its entries are gone from tables, queue and ledger."""
    await deleted_after_much(run)
    await run.sweep()
    await run.sweep()
    assert run.places(MAIL) == []
    assert run.places(SECRET) == ["Ledger"]
    assert await run.tell() == ["ledger"]


async def test_after_the_retention_nothing_is_left(run: Run) -> None:
    """Not a byte in any table, queue or blob."""
    await deleted_after_much(run)
    await run.sweep()
    await run.sweep()
    await run.timers(days=32)
    assert run.places(SECRET) == []
    assert await run.tell() == []


async def test_a_sweep_message_that_was_lost_is_sent_again_by_the_retention(run: Run) -> None:
    """A message ends by itself, and five failures end it: the ledger row remembers what it named."""
    await run.write(**person())
    await run.write(gone=True)
    await run.queue.clear_messages()
    await run.timers(days=32)
    assert [place for place in run.places(MAIL) if place.startswith(INDEX_TABLES)]
    await run.sweep()
    await run.sweep()
    assert run.places(MAIL) == ["Ledger"]
    await run.timers(days=3)
    assert run.places(SECRET) == []


async def test_a_sweep_message_that_failed_stays_for_seven_days(run: Run) -> None:
    """What it named goes with the next full verification."""
    await run.write(**person())
    await run.write(gone=True)
    async with await run.set_sweeps_aside() as poison:
        assert "index-sweep-poison" in run.places(MAIL)
        run.clock[0] += 7 * DAY
        async for message in poison.receive_messages():
            # The clock of the run does not move that of the service.
            assert life_of(message) == timedelta(days=7)
            await poison.delete_message(message)
    assert [place for place in run.places(MAIL) if place.startswith(INDEX_TABLES)]
    await run.verify_all()
    await run.sweep()
    await run.sweep()
    assert run.places(MAIL) == []
    assert run.places(SECRET) == ["Ledger"]


async def test_keys_that_a_fact_left_go_while_it_lives_on(run: Run) -> None:
    """What it was called before is not its business any more."""
    await run.write(**person())
    await run.write(**person(mail="new", phone="new"))
    await run.sweep()
    await run.sweep()
    assert run.places(MAIL) == []


async def test_a_dead_letter_of_what_could_not_be_read_goes_with_its_retention(run: Run) -> None:
    """Nobody knows which fact it is of, so that no delete closes it."""
    await run.parts.worker.apply_latest("people", [{"id": 17, "mail": MAIL, "note": noise(1_200_000)}])
    assert {"DeadLetters", "dead-letters"} & {*run.places(MAIL)}
    await run.timers(days=16)
    assert run.places(MAIL) == []


async def test_a_blob_without_a_dead_letter_goes_within_two_days(run: Run) -> None:
    """As a worker leaves it that ends between two requests."""
    await run.parts.services.blobs.put("people/0/0", SECRET.encode())
    # Blobs have times of the service, which the clock of the run does not move.
    assert run.places(SECRET) == ["dead-letters"]
    await run.timers(days=2)
    assert run.places(SECRET) == []


async def test_entries_of_an_index_that_left_the_file_go_with_its_grace(run: Run) -> None:
    """Nobody writes there any more, so that the delete does not reach them: the table goes as a whole."""
    await run.write(**person())
    without = definitions_of(DEFINITIONS.replace("  by-mail: ", "  by-other: "))
    run.parts = await Parts(without, run.parts.services).ready()
    run.clock[0] += TIMES.refresh_seconds
    await run.write(gone=True)
    assert [place for place in run.places(MAIL) if place.startswith("bymail")]
    runner = TaskRunner(TaskRows(run.parts.services.accounts.main), None, {}, lambda: run.clock[0])
    times = LifecycleTimes(lambda: run.clock[0], TIMES.refresh_seconds, TIMES.build_delay_seconds, TIMES.grace_seconds)
    lifecycle = GenerationLifecycle(without, run.parts.catalog, runner, times)
    await lifecycle.retire_unwanted(run.parts.services.accounts)
    run.clock[0] += TIMES.grace_seconds + 1
    await lifecycle.retire_unwanted(run.parts.services.accounts)
    run.clock[0] += TIMES.build_delay_seconds + 1
    await lifecycle.retire_unwanted(run.parts.services.accounts)
    assert [place for place in run.places(MAIL) if place.startswith("bymail")] == []
    await run.sweep()
    await run.sweep()
    await run.timers(days=32)
    assert run.places(SECRET) == []


async def test_reports_that_name_a_fact_are_shown_and_forgotten_by_force(run: Run) -> None:
    """Else they go with their verification, after thirty days."""
    await deleted_after_much(run)
    await run.sweep()
    await run.sweep()
    rows, state = VerificationRows(run.parts.services.accounts.main), ScanState()
    (key,) = [row for row in await ledger_keys(run) if SECRET in row]
    state.report.note(FactIdentity.of_key(key), Difference("missing", ("A !", f"{MAIL} !{key}"), "0" * 44))
    state.suspects.add(FactIdentity.of_key(key), "facts")
    await rows.save("by-mail", "verification-1", SavedVerification(state))
    assert await run.tell() == ["ledger", "verification"]
    assert (await run.parts.eraser.erase(FACT)).remnants == ()
    assert run.places(SECRET) == []


async def ledger_keys(run: Run) -> list[str]:
    page = await run.parts.services.accounts.main.query("Ledger", None)
    return [str(row.entity["RowKey"]) for row in page.rows]


async def test_force_leaves_nothing_but_messages_and_what_they_name(run: Run) -> None:
    """Right after the delete: of keys that the fact had left before, the ledger knows no more."""
    await deleted_after_much(run)
    await run.parts.eraser.erase(FACT)
    assert not {"Ledger", "DeadLetters", "dead-letters"} & {*run.places(SECRET)}
    assert all(place == "index-sweep" or place.startswith(INDEX_TABLES) for place in run.places(SECRET))
    await run.sweep()
    await run.sweep()
    assert run.places(SECRET) == []


async def test_a_fact_that_is_there_is_not_forced_out(run: Run) -> None:
    """It would come back with its next change, and its entries would be nobody's."""
    await run.write(**person())
    with pytest.raises(LifecycleRefusedError, match="not deleted"):
        await run.parts.eraser.erase(FACT)
    assert run.places(MAIL)


async def test_what_no_source_has_is_refused(run: Run) -> None:
    """With what is wrong."""
    with pytest.raises(LifecycleRefusedError, match="no source"):
        await run.parts.eraser.look(FACT._replace(source="nobody"))
    with pytest.raises(LifecycleRefusedError, match="partition key"):
        await run.parts.eraser.look(FACT._replace(partition_key=("a", "b")))


async def test_reports_of_an_index_that_is_gone_are_forgotten(run: Run) -> None:
    """With those of all others, by the timer that starts verifications."""
    await run.write(**person())
    rows, state = VerificationRows(run.parts.services.accounts.main), ScanState()
    state.suspects.add(FactIdentity.of_key(f"{ID} !{ID} !"), "facts")
    await rows.save("by-mail", "verification-1", SavedVerification(state))
    without = definitions_of(DEFINITIONS.replace("  by-mail: ", "  by-other: "))
    runner = TaskRunner(TaskRows(run.parts.services.accounts.main), None, {}, lambda: run.clock[0])
    service = VerificationService(without, run.parts.catalog, runner, rows, lambda: run.clock[0])
    await service.start_due(VerificationSchedule(0, 0, 0))
    assert await rows.reports("by-mail") == {}
