"""What the indexes should show, computed from the newest facts alone, and what a reader sees in the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from shared.definitions.utf16 import utf16_order
from shared.entries.keys.index_keys import split_row_key
from shared.entries.projection.generations import place_of
from shared.entries.rows.entry_row import is_expired, is_tombstone
from shared.errors import UnprojectableError
from shared.pipeline.apply.batch import newest_of_each
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE, dead_letter_id
from shared.pipeline.ledger.rows import LEDGER_TABLE, decode
from shared.tables.memory.store import as_row
from tests.simulation.programs import NOW_SECONDS, stored_name
from tests.simulation.summary_truth import shown_contributions, summary_difference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.entries.projection.projector import Entry
    from shared.tables.memory.store import Store

Shown: TypeAlias = frozenset[tuple[str, str, frozenset[tuple[str, Any]]]]


def expected(generation: Generation, changes: Iterable[Change], now_seconds: float = NOW_SECONDS) -> Shown:
    """The entries of the newest version of every fact, but for those whose time is over."""
    return frozenset(
        (entry.partition_key, entry.entry_key, frozenset(entry.columns.items()))
        for change in newest_of_each(changes)
        for entry in _entries(generation, change) or ()
        if not is_expired(entry.columns, now_seconds)
    )


def expected_dead_letters(generations: Iterable[Generation], changes: Iterable[Change]) -> dict[str, str]:
    """The dead letters of the newest version of every fact: ids and versions."""
    newest = newest_of_each(changes)
    return {
        dead_letter_id(change.source, change.fact_key, generation.index.name): change.version
        for generation in generations
        for change in newest
        if _entries(generation, change) is None
    }


def dead_letters_in(store: Store, source: str) -> dict[str, str]:
    """The dead letters that there are: ids and versions."""
    rows = store.partition(DEAD_LETTER_TABLE, source)
    kept = {key: as_row((DEAD_LETTER_TABLE, source, key), value) for key, value in rows.items()}
    return {key: str(row.entity["version"]) for key, row in kept.items() if row is not None}


def _entries(generation: Generation, change: Change) -> tuple[Entry, ...] | None:
    """None when the change does not fit."""
    try:
        return generation.projector.project(change)
    except UnprojectableError:
        return None


def shown(generation: Generation, store: Store, now_seconds: float = NOW_SECONDS) -> Shown:
    """What a reader sees: the newest row of each entry key, unless it is a tombstone, in the account of its
    partition. Of a summary: what its facts contribute."""
    if generation.layout is not None:
        return frozenset(shown_contributions(generation, store))
    found: set[tuple[str, str, frozenset[tuple[str, Any]]]] = set()
    for table in tables_in(store, generation):
        for partition in store.partition_keys(table):
            place = place_of(generation, partition)
            if stored_name(place.account, place.table) == table:
                found.update(_shown_in(table, partition, store, now_seconds))
    return frozenset(found)


def tables_in(store: Store, generation: Generation) -> list[str]:
    """The tables of a generation that are there, those of periods included, by their names in the store."""
    own = [stored_name(account, name) for account, name in sorted(generation.tables())]
    return [name for name in store.tables() if any(name == table or name.startswith(f"{table}p") for table in own)]


def _shown_in(
    table: str, partition: str, store: Store, now_seconds: float
) -> Iterator[tuple[str, str, frozenset[tuple[str, Any]]]]:
    seen: set[str] = set()
    rows = store.partition(table, partition)
    for key in sorted(rows, key=utf16_order):
        row = as_row((table, partition, key), rows[key])
        entry_key, _ = split_row_key(key)
        if row is None or entry_key in seen:
            continue
        seen.add(entry_key)
        if not is_tombstone(row.entity) and not is_expired(row.entity, now_seconds):
            columns = {name: value for name, value in row.entity.items() if name not in {"PartitionKey", "RowKey"}}
            yield partition, entry_key, frozenset(columns.items())


def difference(
    generation: Generation, changes: Sequence[Change], store: Store, now_seconds: float = NOW_SECONDS
) -> str | None:
    """How an index differs from the truth, or None."""
    if generation.layout is not None:
        return summary_difference(generation, changes, store)
    wanted, found = expected(generation, changes, now_seconds), shown(generation, store, now_seconds)
    if wanted == found:
        return None
    return f"index {generation.index.name}: missing {_shown_keys(wanted - found)}, ghosts {_shown_keys(found - wanted)}"


def what_is_left(plan: SourcePlan, store: Store) -> str | None:
    """Keys that no fact has any more: tombstones, contributions that are gone, and what the ledger lists as removed."""
    for generation in plan.generations:
        for table in tables_in(store, generation):
            for partition in store.partition_keys(table):
                if text := _hidden_in(generation, table, partition, store):
                    return text
    return _listed_in_ledger(plan, store)


def _hidden_in(generation: Generation, table: str, partition: str, store: Store) -> str | None:
    """A tombstone, or a contribution that is gone. Below a live row of its entry key it waits for that to leave."""
    seen: set[str] = set()
    rows = store.partition(table, partition)
    for key in sorted(rows, key=utf16_order):
        row = as_row((table, partition, key), rows[key])
        entry_key = key if generation.layout is not None else split_row_key(key)[0]
        if row is not None and entry_key not in seen and is_tombstone(row.entity):
            return f"a tombstone is left in {table}: {partition}, {key}"
        seen.add(entry_key)
    return None


def _listed_in_ledger(plan: SourcePlan, store: Store) -> str | None:
    known = {generation.id for generation in plan.generations}
    for partition in store.partition_keys(LEDGER_TABLE):
        for fact_key in store.partition(LEDGER_TABLE, partition):
            row = store.get(LEDGER_TABLE, partition, fact_key)
            if row is None or not partition.startswith(plan.source) or fact_key.startswith("  "):
                continue
            for generation_id, state in decode(row.entity).states.items():
                # The next replay goes above the keys of one that was replayed.
                if generation_id in known and state.removed and state.tombstone_version == state.version:
                    return f"the ledger lists keys that are removed: {fact_key}, {state}"
    return None


def _shown_keys(entries: Shown) -> list[tuple[str, str, object]]:
    return sorted((partition, entry_key, dict(columns).get("phone")) for partition, entry_key, columns in entries)
