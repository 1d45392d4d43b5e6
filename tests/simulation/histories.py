"""The histories of one fact that the exhaustive simulation plays, and the workers that deliver them."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

from shared.entries.projection.generations import plan_of
from tests.simulation.programs import Worker, batches_of
from tests.simulation.reader import MergedReader, Reader
from tests.worlds import dead_letters
from tests.worlds.world import TOWNS, Writer, definitions_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from tests.simulation.steps import Program

TWO_INDEXES = TOWNS + "  by-name: {source: people, partition: name, sort: town, project: [phone]}\n"
SEVERAL_TOWNS = TOWNS.replace("partition: town", "each: {home: towns}, partition: home")

DEFINITIONS = definitions_of(TOWNS)
PLAN = plan_of(DEFINITIONS, "people")
BOTH = plan_of(definitions_of(TWO_INDEXES), "people")
FIRST_OF_BOTH = replace(BOTH, generations=BOTH.generations[:1])
SECOND_OF_BOTH = replace(BOTH, generations=BOTH.generations[1:])
MANY = plan_of(definitions_of(SEVERAL_TOWNS), "people")

POISON = "poison"
Spec: TypeAlias = "str | tuple[str, ...] | None"
History: TypeAlias = "tuple[Change, ...]"


def refusing(plan: SourcePlan) -> SourcePlan:
    """The same plan with code that has a fault."""
    return dead_letters.refusing(plan, DEFINITIONS)


def document(spec: Spec) -> dict[str, Any] | None:
    """`A:x` lives in town A with phone x, `("A", "B")` in both towns, POISON in no text; None is deleted."""
    if spec is None:
        return None
    if isinstance(spec, tuple):
        return {"towns": list(spec), "name": "n"}
    if spec == POISON:
        return {"town": {"is": "no text"}, "name": "n"}
    town, _, phone = spec.partition(":")
    return {"town": town, "name": "n", "phone": phone}


def history(*specs: Spec) -> History:
    """The versions of one fact."""
    writer = Writer(DEFINITIONS, "people")
    return tuple(writer.change("f", document(spec)) for spec in specs)


HISTORIES: dict[str, tuple[Spec, ...]] = {
    "insert": ("A:x",),
    "same key": ("A:x", "A:y"),
    "unchanged": ("A:x", "A:x"),
    "unchanged twice": ("A:x", "A:x", "A:x"),
    "changed and back": ("A:x", "A:y", "A:x"),
    "unchanged, then changed": ("A:x", "A:x", "A:y"),
    "moved": ("A:x", "B:x"),
    "unchanged, then moved": ("A:x", "A:x", "B:x"),
    "moved, then unchanged": ("B:x", "A:x", "A:x"),
    "moved and back": ("A:x", "B:x", "A:x"),
    "moved twice": ("A:x", "B:x", "C:x"),
    "deleted": ("A:x", None),
    "moved, then deleted": ("A:x", "B:x", None),
    "deleted and inserted again": ("A:x", None, "A:x"),
}


def deliveries(versions: History) -> Iterator[History]:
    """Which versions are delivered, one worker each: the last always, the others as the feed may have shown them."""
    last = versions[-1]
    yield (last,)
    yield (last, last)
    for size in range(1, len(versions)):
        for earlier in combinations(versions[:-1], size):
            yield (*earlier, last)


def workers(versions: History, plan: SourcePlan = PLAN, *, reads_first: bool = True) -> tuple[Worker, ...]:
    """One worker for each version."""
    return tuple(Worker(plan, batches_of(change), reads_first=reads_first) for change in versions)


def reading_beside_updates(*, follows_tokens: bool) -> tuple[History, tuple[Program, ...], tuple[Program, ...]]:
    """Three facts of one partition; two change in place while a reader pages through: changes, programs, prefix."""
    writer = Writer(DEFINITIONS, "people")
    before = tuple(writer.change(fact, {"town": "A", "name": fact, "phone": "x"}) for fact in "fgh")
    after = tuple(writer.change(fact, {"town": "A", "name": fact, "phone": "y"}) for fact in "fg")
    (generation,) = PLAN.generations
    entry_keys = frozenset(entry.entry_key for change in before for entry in generation.projector.project(change))
    partition = generation.projector.project(before[0])[0].partition_key
    reader = Reader(generation.table, partition, entry_keys, follows_tokens)
    return (*before, *after), (Worker(PLAN, batches_of(*after)), reader), (Worker(PLAN, (before,)),)


def merging_beside_updates() -> tuple[History, tuple[Program, ...], tuple[Program, ...]]:
    """Facts of two partitions, one of which changes in place while a reader merges them: changes, programs, prefix."""
    writer = Writer(DEFINITIONS, "people")
    towns = {"f": "B", "g": "A", "h": "B"}
    before = tuple(writer.change(fact, {"town": town, "name": fact, "phone": "x"}) for fact, town in towns.items())
    after = (writer.change("g", {"town": "A", "name": "g", "phone": "y"}),)
    reader = MergedReader(DEFINITIONS, "by-town", {"town.in": '["A","B"]'}, tuple(towns))
    return (*before, *after), (Worker(PLAN, batches_of(*after)), reader), (Worker(PLAN, (before,)),)
