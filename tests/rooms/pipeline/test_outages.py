"""An index account that is down: every rule of the debts, each in the shortest history that needs it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.errors import IncompleteBatchError, StorageUnavailableError
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.pipeline.ledger.debts import Debt
from shared.pipeline.ledger.rows import LEDGER_TABLE, bucket_partition
from shared.tables.port import RowRange
from tests.worlds.dead_letters import refusing
from tests.worlds.outages import HOMES, TWO_INDEXES, Died, OutageWorld, X, Y


@pytest.fixture
async def world() -> OutageWorld:
    """One index over two accounts."""
    world = OutageWorld()
    await world.create_tables()
    return world


async def test_what_an_account_that_is_down_holds_is_owed_and_delivered(world: OutageWorld) -> None:
    """The other account has its entries at once."""
    world.set_down(X, down=True)
    outcome = await world.apply(world.person("A", "Z"))
    assert (outcome.applied, outcome.owing, world.shown()) == (1, 1, {"Z": "1"})
    (debt,) = await world.debts()
    assert (debt.account, debt.since_seconds, len(debt.generations)) == (X, 1_800_000_000, 1)
    world.set_down(X, down=False)
    assert await world.deliver() == 1
    assert world.shown() == {"A": "1", "Z": "1"}
    assert await world.debts() == []
    assert (await world.ledger_row()).debts == {}


async def test_an_account_that_fails_in_the_middle_of_a_batch_is_owed(world: OutageWorld) -> None:
    """The batch is acknowledged although its claim was not written everywhere."""
    world.set_down(X, down=True, believed=False)
    await world.apply(world.person("A", "Z"))
    world.set_down(X, down=False)
    await world.deliver()
    assert world.shown() == {"A": "1", "Z": "1"}


async def test_an_account_that_is_wrongly_taken_for_dead_costs_a_delivery(world: OutageWorld) -> None:
    """And nothing else."""
    world.set_down(X, down=False, believed=True)
    await world.apply(world.person("A"))
    world.set_down(X, down=False)
    await world.deliver()
    assert world.shown() == {"A": "1"}


async def test_the_main_account_is_never_taken_for_dead() -> None:
    """What is placed in it is not owed: the batch comes again."""
    world = OutageWorld(HOMES.replace("account: Y", f"account: {DEFAULT_ACCOUNT}"))
    await world.create_tables()
    main = world.wires[DEFAULT_ACCOUNT]

    async def claim() -> None:
        main.before_write = refuse

    async def refuse() -> None:
        raise StorageUnavailableError("The entry is refused, after the claim.", outcome_unknown=False)

    main.before_write = claim
    with pytest.raises(IncompleteBatchError):
        await world.applier.apply(world.plan, [world.person("Z")])
    assert await world.debts() == []


async def test_a_delivery_that_dies_after_its_claim_is_repeated(world: OutageWorld) -> None:
    """The debt is paid after the writes, not with the claim."""
    await world.apply(world.person("A"))
    world.set_down(X, down=True)
    await world.apply(world.person("A", phone="2"))
    world.set_down(X, down=False)

    async def die() -> None:
        raise Died

    world.wires[X].before_write = die
    with pytest.raises(BaseException, match=r".*"):
        await world.deliver()
    await world.deliver()
    assert world.shown() == {"A": "2"}


async def test_a_worker_that_was_overtaken_owes_nothing(world: OutageWorld) -> None:
    """While its write to the account fails, the fact is deleted by another worker."""
    first, gone = world.person("A"), world.person()

    async def be_overtaken() -> None:
        world.set_down(X, down=False)
        await world.new_process().apply(world.plan, [gone])
        world.set_down(X, down=True, believed=False)

    world.set_down(X, down=True, believed=False)
    world.wires[X].before_write = be_overtaken
    await world.apply(first)
    world.set_down(X, down=False)
    await world.deliver()
    assert (world.shown(), await world.debts()) == ({}, [])
    assert (await world.ledger_row()).deleted_at_seconds is not None


async def test_an_unchanged_entry_is_written_in_the_account_that_failed(world: OutageWorld) -> None:
    """What is known to be finished in one account is not in the other."""
    world.set_down(X, down=True, believed=False)
    await world.apply(world.person("A", "Z"))
    world.set_down(X, down=False)
    await world.apply(world.person("A"))
    assert (world.shown(), await world.debts()) == ({"A": "1"}, [])


async def test_a_fact_that_moved_away_from_an_account_that_is_down_is_removed_there_later(world: OutageWorld) -> None:
    """It is written elsewhere at once, also when it has moved on meanwhile."""
    await world.apply(world.person("A"))
    world.set_down(X, down=True)
    await world.apply(world.person("Z"))
    await world.apply(world.person("Y"))
    assert world.shown() == {"A": "1", "Y": "1"}
    world.set_down(X, down=False)
    await world.deliver()
    assert world.shown() == {"Y": "1"}


async def test_a_fact_that_moves_into_an_account_that_is_down_leaves_the_other_at_once(world: OutageWorld) -> None:
    """A stale entry is worse than none."""
    await world.apply(world.person("Z"))
    world.set_down(X, down=True, believed=False)
    await world.apply(world.person("A"))
    assert world.shown() == {}


async def test_every_key_that_the_account_may_have_is_removed(world: OutageWorld) -> None:
    """One that was claimed and not written, and the one before."""
    await world.apply(world.person("A"))
    world.set_down(X, down=True, believed=False)
    await world.apply(world.person("B"))
    world.set_down(X, down=False)
    await world.apply(world.person("C"))
    assert (world.shown(), await world.debts()) == ({"C": "1"}, [])


async def test_the_row_of_a_deleted_fact_stays_while_it_owes(world: OutageWorld) -> None:
    """Otherwise its entry would be shown for ever."""
    await world.apply(world.person("A"))
    world.set_down(X, down=True, believed=False)
    await world.apply(world.person())
    assert await world.forget_deleted_facts() == 0
    world.set_down(X, down=False)
    await world.deliver()
    assert world.shown() == {}


async def test_a_newer_document_is_left_to_the_feed(world: OutageWorld) -> None:
    """Nothing is written at a version that is not its own."""
    world.set_down(X, down=True)
    await world.apply(world.person("A"))
    newer = world.person("A", phone="2")
    await world.keep(newer)
    world.set_down(X, down=False)
    await world.deliver()
    assert (world.shown(), len(await world.debts())) == ({}, 1)
    await world.apply(newer)
    assert (world.shown(), await world.debts()) == ({"A": "2"}, [])


async def test_a_replay_during_an_outage_is_completed(world: OutageWorld) -> None:
    """The account's share had failed at this very version, so that nothing of it is written there."""
    change = world.person("A", "Z")
    await world.apply(change, refusing(world.plan, world.definitions))
    world.set_down(X, down=True)
    await world.new_process().apply(replace(world.plan, is_replay=True), [change])
    assert world.shown() == {"Z": "1"}
    world.set_down(X, down=False)
    await world.deliver()
    assert world.shown() == {"A": "1", "Z": "1"}


async def test_a_delivery_never_lifts_a_failure(world: OutageWorld) -> None:
    """Code that is right now would bring one account alone; a replay brings them all."""
    await world.apply(world.person("A", "Z"))
    change = world.person("A", "Z", phone="2")
    world.set_down(X, down=True)
    await world.apply(change, refusing(world.plan, world.definitions))
    world.set_down(X, down=False)
    await world.deliver()
    assert (world.shown(), await world.debts()) == ({}, [])
    await world.new_process().apply(replace(world.plan, is_replay=True), [change])
    assert world.shown() == {"A": "2", "Z": "2"}


async def test_a_version_that_was_acknowledged_is_not_failed_by_code_with_a_fault(world: OutageWorld) -> None:
    """That code ends before its dead letter, and nothing brings the version again: the debt is all that is left."""
    change = world.person("A", "Z")
    world.set_down(X, down=True)
    await world.apply(change)
    main = world.wires[DEFAULT_ACCOUNT]

    async def die() -> None:
        raise Died

    async def die_after_this() -> None:
        main.before_write = die

    main.before_write = die_after_this
    applier = world.new_process()
    applier._claimer.insert_or_read.observe(existing=10, absent=0)
    with pytest.raises(Died):
        await applier.apply(refusing(world.plan, world.definitions), [change])
    world.set_down(X, down=False)
    await world.deliver()
    assert (world.shown(), await world.debts()) == ({"A": "1", "Z": "1"}, [])


async def test_code_with_a_fault_pays_nothing(world: OutageWorld) -> None:
    """The account's share had failed, was replayed while it was down, and comes to such code once more."""
    change = world.person("A", "Z")
    broken = refusing(world.plan, world.definitions)
    await world.apply(change, broken)
    world.set_down(X, down=True)
    await world.new_process().apply(replace(world.plan, is_replay=True), [change])
    world.set_down(X, down=False)
    await world.new_process().apply(broken, [change])
    assert [debt.account for debt in await world.debts()] == [X]
    await world.deliver()
    assert (world.shown(), await world.debts()) == ({"A": "1", "Z": "1"}, [])


async def test_a_dead_letter_of_a_version_that_owes_goes_with_the_next_version(world: OutageWorld) -> None:
    """The ledger row says that there may be one, although the version has not failed."""
    change, main = world.person("A", "Z"), world.tables[DEFAULT_ACCOUNT]
    world.set_down(X, down=True)
    await world.apply(change)
    await world.new_process().apply(refusing(world.plan, world.definitions), [change])
    assert len((await main.query(DEAD_LETTER_TABLE, RowRange("people"))).rows) == 1
    await world.new_process().apply(world.plan, [world.person("A", "Z", phone="2")])
    assert (await main.query(DEAD_LETTER_TABLE, RowRange("people"))).rows == ()


async def test_a_delivery_moves_a_version_in_all_accounts_or_in_none() -> None:
    """An old page of a build has brought an older version of the fact to one of two generations."""
    world = OutageWorld(TWO_INDEXES)
    await world.create_tables()
    built = replace(world.plan, generations=world.plan.generations[1:])
    live = replace(world.plan, generations=world.plan.generations[:1])
    old, new = world.person("A", "Z"), world.person("A", "Z", phone="2")
    await world.apply(new, live)
    world.set_down(X, down=True)
    await world.new_process().apply(built, [old])
    world.set_down(X, down=False)
    await world.deliver()
    table = built.generations[0].table
    keys = [key for account in (X, Y) for home in "AZ" for key in _keys(world, account, table, home)]
    assert [key[:1] for key in keys] == ["2", "2"]


def _keys(world: OutageWorld, account: str, table: str, home: str) -> list[str]:
    """The newest row in a partition."""
    return sorted(world.tables[account].store.partition(table, f"{home} !"), reverse=True)[:1]


async def test_an_older_version_is_dropped_where_an_account_is_behind_it(world: OutageWorld) -> None:
    """The other account must not get it."""
    await world.apply(world.person("A", "Z"))
    older, newest = world.person("A", "Z", phone="2"), world.person("A", "Z", phone="3")
    world.set_down(X, down=True)
    await world.apply(newest)
    world.set_down(X, down=False)
    outcome = await world.new_process().apply(world.plan, [older])
    assert (outcome.dropped, world.shown()) == (1, {"A": "1", "Z": "3"})


async def test_a_debt_that_is_made_again_is_not_deleted(world: OutageWorld) -> None:
    """A delivery has seen that nothing is owed; before it deletes the debt, something is."""
    change = world.person("A")
    await world.apply(change)
    partition, main = bucket_partition("people", 0), world.tables[DEFAULT_ACCOUNT]
    await main.transact(LEDGER_TABLE, [Debt(X, change.fact_key, 1, frozenset("g")).put(partition)])

    async def owe_again() -> None:
        world.set_down(X, down=True)
        await world.new_process().apply(world.plan, [world.person("A", phone="2")])
        world.set_down(X, down=False)

    world.wires[DEFAULT_ACCOUNT].before_write = owe_again
    await world.deliver()
    assert [debt.since_seconds for debt in await world.debts()] == [1_800_000_000]


async def test_a_debt_that_nothing_owes_goes(world: OutageWorld) -> None:
    """As after its generation was retired."""
    world.set_down(X, down=True)
    await world.apply(world.person("A"))
    world.set_down(X, down=False)
    await world.deliver(replace(world.plan, generations=(), retired=frozenset([world.plan.generations[0].id])))
    assert (await world.debts(), (await world.ledger_row()).states) == ([], {})


async def test_a_source_that_cannot_be_asked_keeps_its_newest_document(world: OutageWorld) -> None:
    """With the debt, and anew with every version."""
    world.set_down(X, down=True)
    for phone in "12":
        await world.apply(replace(world.person("A", phone=phone), source_etag=None))
    world.set_down(X, down=False)
    await world.deliver()
    assert (world.shown(), await world.debts()) == ({"A": "2"}, [])


async def test_a_redelivery_during_an_outage_owes_what_may_not_be_written(world: OutageWorld) -> None:
    """Its first worker has claimed and died."""
    change = world.person("A", "Z")

    async def die() -> None:
        raise Died

    world.wires[X].before_write = die
    with pytest.raises(BaseException, match=r".*"):
        await world.apply(change)
    world.set_down(X, down=True)
    world.applier = world.new_process()
    await world.apply(change)
    assert [debt.account for debt in await world.debts()] == [X]
    world.set_down(X, down=False)
    await world.deliver()
    assert world.shown() == {"A": "1", "Z": "1"}


async def test_another_account_that_goes_down_is_owed_too(world: OutageWorld) -> None:
    """Both are delivered when they are back."""
    world.set_down(X, down=True)
    world.set_down(Y, down=True, believed=False)
    await world.apply(world.person("A", "Z"))
    world.set_down(Y, down=False)
    await world.deliver()
    assert world.shown() == {"Z": "1"}
    world.set_down(X, down=False)
    await world.deliver()
    assert world.shown() == {"A": "1", "Z": "1"}


async def test_a_change_costs_what_it_costs_without_debts(world: OutageWorld) -> None:
    """The claim, and one transaction in each account."""
    await world.apply(world.person("A", "Z"))
    counts = [tables.counts for tables in world.tables.values()]
    before = [each.total() for each in counts]
    change = world.person("A", "Z", phone="2")
    await world.applier.apply(world.plan, [change])
    assert [each.total() - old for each, old in zip(counts, before, strict=True)] == [1, 1, 1]
