"""What an account that is down is owed of a fact is kept in the ledger until the account is back, and no longer."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.pipeline.ledger.rows import LEDGER_TABLE
from tests.rooms.erasure.everything import tables_with
from tests.worlds.outages import OutageWorld, X

if TYPE_CHECKING:
    from shared.entries.changes.change import Change

PHONE = uuid.uuid4().hex


@pytest.fixture
async def world() -> OutageWorld:
    """One index over two accounts, of which one is down."""
    world = OutageWorld()
    await world.create_tables()
    world.set_down(X, down=True)
    return world


def told(change: Change) -> Change:
    """A change of a source that cannot be asked again: its document must be kept."""
    return replace(change, source_etag=None)


def places(world: OutageWorld) -> set[tuple[str, str]]:
    """In which tables of which accounts the phone is found, byte for byte."""
    return {
        (account, table) for account, tables in world.tables.items() for table in tables_with(tables, PHONE.encode())
    }


async def test_a_document_that_is_owed_goes_when_the_account_is_back(world: OutageWorld) -> None:
    """The entry has it then."""
    await world.apply(told(world.person("A", phone=PHONE)))
    assert places(world) == {(DEFAULT_ACCOUNT, LEDGER_TABLE)}
    world.set_down(X, down=False)
    await world.deliver()
    assert {account for account, _ in places(world)} == {X}


async def test_a_deleted_document_that_is_owed_goes_when_the_account_is_back(world: OutageWorld) -> None:
    """Not sooner, and without ever getting there."""
    await world.apply(told(world.person("A", phone=PHONE)))
    await world.apply(told(world.person()))
    assert places(world) <= {(DEFAULT_ACCOUNT, LEDGER_TABLE)}
    world.set_down(X, down=False)
    await world.deliver()
    assert places(world) == set()


async def test_an_entry_in_an_account_that_is_down_goes_when_it_is_back(world: OutageWorld) -> None:
    """It cannot be removed sooner."""
    world.set_down(X, down=False)
    await world.apply(told(world.person("A", phone=PHONE)))
    world.set_down(X, down=True)
    await world.apply(told(world.person()))
    assert {account for account, _ in places(world)} == {X}
    world.set_down(X, down=False)
    await world.deliver()
    assert places(world) == set()
