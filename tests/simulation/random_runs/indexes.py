"""The indexes of a run: placed, sharded, expiring, with tables per period, summaries, and one in two generations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from shared.entries.projection.generations import Generation, SourcePlan, plan_of
from tests.worlds.dead_letters import refusing
from tests.worlds.world import definitions_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.definitions.model import Definitions

SOURCE: Final = "people"
_HEAD: Final = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
"""
INDEXES: Final = {
    "by-town": """
  by-town: {source: people, partition: town, sort: name, project: [phone]}""",
    "by-home": """
  by-home:
    source: people
    each: {home: homes}
    partition: home
    sort: rank
    project: [phone]
    where: "!hidden"
    shards: 2
    placement: {by: list, map: {A: ONE, B: TWO}, default: INDEX_STORAGE}""",
    "by-day": """
  by-day:
    source: people
    partition: group
    sort: name
    project: [phone]
    expire: {path: until, after: 1d, tables: day}
    placement: {by: list, map: {g: ONE}, default: INDEX_STORAGE}""",
    "by-rank": """
  by-rank:
    source: people
    partition: group
    sort: [{path: rank, type: integer, order: desc}]
    project: all
    expire: {path: until, after: 1d}""",
    "spent-by-home": """
  spent-by-home:
    source: people
    each: {home: homes}
    partition: home
    summarize: {homes: count, spent: {sum: spent}, most: {max: spent}}
    where: "!hidden"
    shards: 2
    placement: {by: list, map: {A: ONE, B: TWO}, default: INDEX_STORAGE}""",
    "spent": """
  spent:
    source: people
    partition: group
    sort: {path: town, fold: case, nulls: index}
    summarize: {people: facts, spent: {sum: spent}, least: {min: spent}, most: {max: spent}}""",
}
SUMMARIES: Final = ("spent-by-home", "spent")
# The index that may be in two generations, and its other definition.
CHANGED: Final = "by-rank"
_BEFORE: Final = INDEXES[CHANGED].replace("project: all", "project: [phone]")
# The index that code with a fault refuses.
REFUSED: Final = "by-home"
# What a reader asks for so that it gets the steady facts, by index.
QUESTIONS: Final = {
    "by-town": ("town", "S"),
    "by-home": ("home", "A"),
    "by-day": ("group", "g"),
    "by-rank": ("group", "g"),
    "spent-by-home": ("home", "A"),
    "spent": ("group", "g"),
}


@dataclass(frozen=True, slots=True)
class Code:
    """A version of the app that runs: its definitions, and what its workers write to."""

    definitions: Definitions
    plan: SourcePlan

    @property
    def older(self) -> SourcePlan:
        """What code writes to that does not know the youngest generation."""
        return replace(self.plan, generations=self.plan.generations[:-1])

    @property
    def faulty(self) -> SourcePlan:
        """The same plan of code that has a fault in one index."""
        broken = refusing(self.plan, self.definitions).generations
        return replace(
            self.plan,
            generations=tuple(
                bad if good.index.name == REFUSED else good
                for good, bad in zip(self.plan.generations, broken, strict=True)
            ),
        )

    def without(self, generation: Generation) -> Code:
        """The same once a generation is retired."""
        left = tuple(kept for kept in self.plan.generations if kept is not generation)
        retired = self.plan.retired | {generation.id}
        return replace(self, plan=replace(self.plan, generations=left, retired=retired))


def text_of(indexes: Iterable[str]) -> str:
    """Definitions of some indexes."""
    return _HEAD + "".join(indexes)


@cache
def code_for(names: tuple[str, ...], *, has_two_generations: bool = False) -> Code:
    """The code for some of the indexes."""
    definitions = _definitions({name: INDEXES[name] for name in names})
    plan = plan_of(definitions, SOURCE)
    if has_two_generations:
        before = plan_of(_definitions({CHANGED: _BEFORE}), SOURCE).generations
        plan = replace(plan, generations=(*before, *plan.generations))
    return Code(definitions, plan)


def _definitions(texts: dict[str, str]) -> Definitions:
    return definitions_of(text_of(texts.values()))


def before_change(code: Code) -> Generation | None:
    """The generation that another one takes the place of, while there are both."""
    found = [generation for generation in code.plan.generations if generation.index.name == CHANGED]
    return found[0] if len(found) > 1 else None
