"""Dead letters are listed, replayed through the ordinary way, and purged; nothing is lost and nothing comes back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from shared.entries.changes.received_event import ReceivedEvent
from shared.entries.projection.generations import plan_of
from shared.errors import UnknownDeadLetterError
from shared.pipeline.dead_letters.listing import DeadLetterFilter
from shared.pipeline.dead_letters.rows import unreadable_dead_letter
from shared.tables.port import Upsert
from tests.worlds.dead_letters import (
    DAY_SECONDS,
    RETENTION_SECONDS,
    dead_letter_service_of,
    dead_letters_of,
    fail_with_a_fault,
    replay_all,
    results,
)
from tests.worlds.world import World, definitions_of, visible

if TYPE_CHECKING:
    from shared.tables.port import Tables

TEXT = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, eventHub: people, partitionKey: id, version: rev}
indexes:
  by-town: {source: people, partition: town, sort: name, project: [phone]}
  by-age: {source: people, partition: town, sort: [{path: age, type: integer}], project: keys}
"""
PERSON: dict[str, Any] = {"town": "X", "name": "n", "phone": "1", "age": 7}
POISON = {**PERSON, "age": "old"}


@pytest.fixture
async def world(service: Tables) -> World:
    """A source of its own."""
    source = f"p{uuid4().hex[:12]}"
    world = World(service, TEXT.replace("people", source), source)
    await world.create_tables()
    return world


def fix_definition(world: World, old: str, new: str) -> None:
    """Deploy changed definitions; the generations that were there keep their tables."""
    text = TEXT.replace("people", world.plan.source).replace(old, new)
    world.definitions = definitions_of(text)
    world.plan = plan_of(world.definitions, world.plan.source)


async def ages(world: World) -> list[str]:
    """Phones and ids by age: the visible entries of `by-age`."""
    return [row["_fact"] for row in visible(await world.rows("by-age", "X !"))]


async def test_a_dead_letter_has_a_kind_a_reason_and_its_fact(world: World) -> None:
    """For programs, for people, and to find the document."""
    await world.apply(world.writer.change("f", POISON))
    (dead_letter,) = await dead_letters_of(world)
    assert (dead_letter.index, dead_letter.kind, dead_letter.fact_id, dead_letter.partition_key) == (
        "by-age",
        "wrongType",
        "f",
        ("f",),
    )
    assert "'old' at \"age\" is not of type integer" in dead_letter.reason
    assert dead_letter.failed_at_seconds == world.now_seconds
    found = await dead_letter_service_of(world).find(dead_letter.id)
    assert await dead_letter_service_of(world).document(found) == {"id": "f", **POISON}


@pytest.mark.parametrize("identity", ["0" * 32, "nosuch", "", "x" * 600, "a/b", "?#"])
async def test_an_unknown_dead_letter_is_not_found(world: World, identity: str) -> None:
    """Whatever is asked for."""
    with pytest.raises(UnknownDeadLetterError, match="There is no dead letter"):
        await dead_letter_service_of(world).find(identity)


async def test_half_a_character_is_kept_as_it_arrived(world: World) -> None:
    """UTF-8 cannot say it, JSON can; a replay fails as before, not for what was kept."""
    half, service = {**POISON, "phone": "\ud800"}, dead_letter_service_of(world)
    await world.apply(world.writer.change("f", half))
    documents = [
        await service.document(await service.find(dead_letter.id)) for dead_letter in await dead_letters_of(world)
    ]
    assert documents == [{"id": "f", **half}] * 2
    assert set(results(await replay_all(world))) == {"stillFails"}


async def test_dead_letters_are_found_by_filters_page_by_page(world: World) -> None:
    """Every one of them once; a page is never larger than asked."""
    await fail_with_a_fault(world, **{f"f{number}": PERSON for number in range(5)})
    await world.apply(*[world.writer.change(f"g{number}", POISON) for number in range(3)])
    for wanted, count in [
        (DeadLetterFilter(), 13),
        (DeadLetterFilter(source=world.plan.source), 13),
        (DeadLetterFilter(source="other"), 0),
        (DeadLetterFilter(index="by-age"), 8),
        (DeadLetterFilter(kind="notEvaluable"), 10),
        (DeadLetterFilter(index="by-age", kind="wrongType"), 3),
        (DeadLetterFilter(reason="HAS A FAULT"), 10),
        (DeadLetterFilter(reason="no such words"), 0),
    ]:
        found, position = [], None
        while True:
            page = await dead_letter_service_of(world).page(wanted, 2, position)
            assert len(page.dead_letters) <= 2
            found += [dead_letter.id for dead_letter in page.dead_letters]
            position = page.last
            if position is None:
                break
        assert (len(found), len(set(found))) == (count, count), wanted


async def test_a_replay_applies_the_change_and_closes_the_dead_letter(world: World) -> None:
    """As if the code had never had its fault."""
    await fail_with_a_fault(world, f=PERSON)
    assert await ages(world) == []
    assert results(await replay_all(world)) == ["applied", "applied"]
    assert len(await ages(world)) == 1
    assert await dead_letters_of(world) == []
    await world.sweep()
    assert len(await ages(world)) == 1


async def test_a_replayed_entry_is_changed_and_removed_like_any_other(world: World) -> None:
    """Its row stands just above its version; what comes later is above that."""
    await world.apply(world.writer.change("f", PERSON))
    await fail_with_a_fault(world, f={**PERSON, "phone": "2"})
    assert results(await replay_all(world)) == ["applied", "applied"]
    world.restart()
    await world.apply(world.writer.change("f", {**PERSON, "phone": "3"}))
    rows = visible(await world.rows("by-town", "X !"))
    assert [row["phone"] for row in rows] == ["3"]
    await world.apply(world.writer.change("f", {**PERSON, "town": "Y"}))
    assert visible(await world.rows("by-town", "X !")) == []
    await world.sweep()
    assert await world.rows("by-town", "X !") == []
    assert len(visible(await world.rows("by-town", "Y !"))) == 1


async def test_a_dead_letter_that_still_fails_stays_as_old_as_it_is(world: World) -> None:
    """Its reason may be another; its time is that of the failure."""
    failed_at = world.now_seconds
    await world.apply(world.writer.change("f", POISON))
    world.now_seconds += DAY_SECONDS
    (replayed,) = await replay_all(world)
    assert replayed.result == "stillFails"
    assert "'old' at \"age\"" in replayed.detail
    (dead_letter,) = await dead_letters_of(world)
    assert dead_letter.failed_at_seconds == failed_at


async def test_a_dead_letter_that_still_fails_may_be_replayed_for_ever(world: World) -> None:
    """What one replay knows to be finished says nothing to the next: only a fact that fits closes its dead letter."""
    await fail_with_a_fault(world, f=POISON)
    service = dead_letter_service_of(world)
    # One replay may close the dead letter of the other index before the other replay has begun.
    outcomes = results(await service.replay(await dead_letters_of(world)))
    assert outcomes in (["applied", "stillFails"], ["stillFails", "superseded"])
    for _ in range(3):
        assert results(await service.replay(await dead_letters_of(world))) == ["stillFails"]
    assert [dead_letter.index for dead_letter in await dead_letters_of(world)] == ["by-age"]


async def test_a_dead_letter_of_an_older_version_changes_nothing_and_is_closed(world: World) -> None:
    """The newer version was applied, and the dead letter put back by a worker that seemed to be dead."""
    await fail_with_a_fault(world, f={**PERSON, "age": 1})
    (stale,) = [dead_letter for dead_letter in await dead_letters_of(world) if dead_letter.index == "by-age"]
    row = await world.tables.get("DeadLetters", stale.source, stale.id)
    await world.apply(world.writer.change("f", {**PERSON, "age": 2}))
    assert await dead_letters_of(world) == []
    assert row is not None
    await put_back(world, row.entity)
    before = await world.rows("by-age", "X !")
    assert results(await replay_all(world)) == ["superseded"]
    assert await world.rows("by-age", "X !") == before
    assert await dead_letters_of(world) == []


async def put_back(world: World, entity: Any) -> None:
    """Write a row of the table of dead letters as it was."""
    await world.tables.transact("DeadLetters", [Upsert(entity)])


async def test_a_replay_never_brings_a_deleted_fact_back(world: World) -> None:
    """Not even into a generation that was made after the delete and has never heard of the fact."""
    await fail_with_a_fault(world, f=PERSON)
    kept = [
        await world.tables.get("DeadLetters", dead_letter.source, dead_letter.id)
        for dead_letter in await dead_letters_of(world)
    ]
    await world.apply(world.writer.change("f", None))
    for row in kept:
        assert row is not None
        await put_back(world, row.entity)
    fix_definition(world, "sort: name", "sort: [name, phone]")
    await world.create_tables()
    assert results(await replay_all(world)) == ["superseded", "superseded"]
    assert visible(await world.rows("by-town", "X !")) == []
    assert await ages(world) == []


async def test_a_fixed_definition_takes_the_dead_letter_when_its_old_generation_is_retired(world: World) -> None:
    """While the old generation serves, the fact is still missing there, and the dead letter says so."""
    await world.apply(world.writer.change("f", POISON))
    old = world.plan
    fix_definition(world, "{path: age, type: integer}", "age")
    await world.create_tables()
    new = next(generation for generation in world.plan.generations if generation.index.name == "by-age")
    world.plan = replace(old, generations=(*old.generations, new))
    (replayed,) = await replay_all(world)
    assert replayed.result == "stillFails"
    assert replayed.detail.startswith(f"It fits generation {new.id} of the index, but not ")
    assert len(await dead_letters_of(world)) == 1
    kept = tuple(generation for generation in old.generations if generation.index.name != "by-age")
    retired = frozenset(generation.id for generation in old.generations if generation.index.name == "by-age")
    world.plan = replace(old, generations=(*kept, new), retired=retired)
    assert results(await replay_all(world)) == ["applied"]
    assert len(await ages(world)) == 1
    assert await dead_letters_of(world) == []


async def test_what_has_no_index_or_source_any_more_is_refused(world: World) -> None:
    """The dead letter stays until it is purged; when the definition comes back, it can be replayed."""
    await world.apply(world.writer.change("f", POISON))
    plan = world.plan
    world.plan = replace(plan, generations=plan.generations[:1])
    (replayed,) = await replay_all(world)
    assert (replayed.result, replayed.detail) == (
        "refused",
        'There is no index "by-age" any more: define it again, or purge.',
    )
    dead_letters = await dead_letters_of(world)
    world.plan = replace(plan, source="other")
    (replayed,) = await dead_letter_service_of(world).replay(dead_letters)
    assert (replayed.result, "There is no source" in replayed.detail) == ("refused", True)
    world.plan = plan
    assert len(await dead_letters_of(world)) == 1


def unreadable_event(body: bytes, enqueued_seconds: float) -> ReceivedEvent:
    """An event as a hub gave it."""
    return ReceivedEvent(body, datetime.fromtimestamp(enqueued_seconds, UTC), 7)


async def put_unreadable(world: World, body: bytes, enqueued_seconds: float) -> None:
    """The dead letter of an event that could not be read."""
    event = unreadable_event(body, enqueued_seconds)
    await dead_letter_service_of(world).store.put(
        unreadable_dead_letter(world.plan.source, event.plain(), "Nonsense.", "event")
    )


GOOD_EVENT = b'{"op":"upsert","document":{"id":"f","rev":1,"town":"X","name":"n","phone":"1","age":7}}'


async def test_what_could_not_be_read_is_read_again_by_the_same_reader(world: World) -> None:
    """Then applied as the change that it is."""
    await put_unreadable(world, GOOD_EVENT, world.now_seconds - 10)
    await put_unreadable(world, b"\xff no JSON", world.now_seconds)
    assert results(await replay_all(world)) == ["applied", "stillFails"]
    assert len(await ages(world)) == 1
    (remaining,) = await dead_letters_of(world)
    assert "is not JSON" in remaining.reason
    assert (remaining.kind, remaining.index, remaining.fact_id) == ("unreadable", "", None)


async def test_a_document_of_the_feed_that_could_not_be_read_is_read_again(world: World) -> None:
    """Also one that is no JSON: it is kept as text, and stays."""
    service = dead_letter_service_of(world)
    document = {"id": "f", "rev": 1, **PERSON, "_ts": int(world.now_seconds), "_lsn": 3}
    for kept in (document, {"id": "g", "age": float("nan")}, "no document"):
        await service.store.put(unreadable_dead_letter(world.plan.source, kept, "Nonsense.", "feed"))
    assert results(await replay_all(world)) == ["applied", "stillFails", "stillFails"]
    assert len(await ages(world)) == 1
    assert len(await dead_letters_of(world)) == 2


async def test_an_all_versions_source_reads_again_what_its_feed_or_a_build_kept(world: World) -> None:
    """Its feed has items with metadata; a build reads documents, which may have a field of that name."""
    hub = f"eventHub: {world.plan.source}, partitionKey: id, version: rev"
    fix_definition(world, hub, "partitionKey: id, deletes: {feed: allVersions}")
    await world.create_tables()
    seconds = int(world.now_seconds)
    built = {"id": "f", **PERSON, "metadata": {"by": "me"}, "_ts": seconds, "_lsn": 3}
    item = {"current": {"id": "g", **PERSON, "_ts": seconds}, "metadata": {"operationType": "create", "lsn": 4}}
    service = dead_letter_service_of(world)
    kept: dict[str, Any]
    for kept in (built, item, {"metadata": {}}):
        await service.store.put(unreadable_dead_letter(world.plan.source, kept, "Nonsense.", "feed"))
    assert results(await replay_all(world)) == ["applied", "applied", "stillFails"]
    assert len(await ages(world)) == 2


async def test_an_event_that_can_be_read_but_does_not_fit_has_a_dead_letter_for_that(world: World) -> None:
    """One dead letter goes, another comes."""
    await put_unreadable(world, GOOD_EVENT.replace(b"7", b'"old"'), world.now_seconds)
    (replayed,) = await replay_all(world)
    assert (replayed.result, "does not fit 1 of its indexes" in replayed.detail) == ("stillFails", True)
    (dead_letter,) = await dead_letters_of(world)
    assert (dead_letter.index, dead_letter.kind) == ("by-age", "wrongType")


async def test_an_old_event_does_not_bring_a_deleted_fact_back(world: World) -> None:
    """It is older than the delete, or so old that the ledger has forgotten the delete."""
    await world.apply(world.writer.change("f", PERSON), world.writer.change("f", None))
    await put_unreadable(world, GOOD_EVENT, world.now_seconds)
    await put_unreadable(world, GOOD_EVENT, 1_000.0)
    done = await replay_all(world)
    assert results(done) == ["refused", "superseded"]
    assert "older than DEAD_LETTER_RETENTION_DAYS" in "".join(each.detail for each in done)
    assert await ages(world) == []


async def test_a_dead_letter_older_than_its_retention_is_refused(world: World) -> None:
    """The ledger may have forgotten that the fact was deleted."""
    await fail_with_a_fault(world, f=PERSON)
    world.now_seconds += RETENTION_SECONDS + 1
    assert results(await replay_all(world)) == ["refused", "refused"]
    assert await ages(world) == []


async def test_purging_forgets_dead_letters_older_than_the_retention(world: World) -> None:
    """Page by page, with their blobs; younger ones stay."""
    await fail_with_a_fault(world, **{f"f{number}": PERSON for number in range(3)})
    world.now_seconds += RETENTION_SECONDS - DAY_SECONDS
    await world.apply(world.writer.change("g", POISON))
    assert await dead_letter_service_of(world).purge_all() == 0
    world.now_seconds += DAY_SECONDS + 1
    purged, position = await dead_letter_service_of(world).purge(DeadLetterFilter(), 4, None)
    assert purged == 4
    assert position is not None
    assert await dead_letter_service_of(world).purge_all() == 2
    (dead_letter,) = await dead_letters_of(world)
    assert dead_letter.fact_id == "g"
    assert await dead_letter_service_of(world).purge(
        DeadLetterFilter(kind="notEvaluable"), 10, None, older_than_seconds=0
    ) == (
        0,
        None,
    )
    assert await dead_letter_service_of(world).purge(
        DeadLetterFilter(kind="wrongType"), 10, None, older_than_seconds=-1
    ) == (1, None)
