"""Turns what a trigger delivers into changes, item by item. An item that cannot be read becomes a dead letter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from shared.entries.changes.cosmos_changes import last_of_each_transaction
from shared.errors import UnreadableChangeError
from shared.pipeline.dead_letters.rows import unreadable_dead_letter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shared.entries.changes.change import Change
    from shared.entries.changes.hub_reader import HubReader
    from shared.entries.changes.received_event import ReceivedEvent
    from shared.pipeline.concurrency import NextTurn
    from shared.pipeline.dead_letters.rows import DeadLetter

T = TypeVar("T")


@dataclass(slots=True)
class Intake:
    """The changes of a batch, and dead letters for the items that could not be read."""

    changes: list[Change] = field(default_factory=list)
    unreadable: list[DeadLetter] = field(default_factory=list)
    # So many changes were left out because their own transaction has replaced them.
    superseded: int = 0
    # So many events of a hub were no change of the source.
    ignored: int = 0


async def read_all(
    source: str,
    items: Iterable[T],
    read: Callable[[T], Change],
    next_turn: NextTurn,
) -> Intake:
    """Read every item of a feed; one that cannot be read does not delay the others."""
    intake = Intake()
    for item in items:
        try:
            intake.changes.append(read(item))
        except UnreadableChangeError as error:
            intake.unreadable.append(unreadable_dead_letter(source, item, str(error), "feed"))
        await next_turn()
    return intake


async def read_hub(reader: HubReader, events: Iterable[ReceivedEvent], next_turn: NextTurn) -> dict[str, Intake]:
    """Read events of a hub for each of its sources. A dead letter keeps the whole event as it came."""
    intakes: dict[str, Intake] = {name: Intake() for name in reader.sources}
    for event in events:
        for name, found in reader.read(event).items():
            intake = intakes[name]
            if found is None:
                intake.ignored += 1
            elif isinstance(found, Exception):
                intake.unreadable.append(unreadable_dead_letter(name, event.plain(), str(found), "event"))
            else:
                intake.changes.append(found)
        await next_turn()
    return intakes


async def read_transactions(
    source: str, items: Iterable[T], read: Callable[[T], Change], next_turn: NextTurn
) -> Intake:
    """Read a page of an all versions feed, which has whole transactions: only the end of each counts."""
    intake = await read_all(source, items, read, next_turn)
    changes = last_of_each_transaction(intake.changes)
    return Intake(changes, intake.unreadable, len(intake.changes) - len(changes))
