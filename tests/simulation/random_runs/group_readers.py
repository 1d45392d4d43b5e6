"""Readers of summaries: a group counts every fact that is in it throughout, once, and none that never was in it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tests.simulation.random_runs.coverage import Coverage, Event
from tests.simulation.steps import ViolationError
from tests.simulation.truth import shown

if TYPE_CHECKING:
    from shared.entries.projection.generations import Generation
    from shared.lookup.lookups import Lookups
    from shared.tables.memory.store import Store
    from tests.simulation.random_runs.readers import Question

# The measure that counts facts or elements, by summary.
_COUNTED: Final = {"spent": "people", "spent-by-home": "homes"}


@dataclass(slots=True, eq=False)
class Groups:
    """The groups that a reader asks for: how many are in each at least and at most, ever since the reader began."""

    generation: Generation
    question: Question
    store: Store
    # By the text of the key: elements by fact, those that were there at every moment and those that ever were.
    throughout: dict[str, dict[str, int]] = field(init=False)
    ever: dict[str, dict[str, int]] = field(init=False)

    def __post_init__(self) -> None:
        self.throughout, self.ever = self._now(), self._now()

    def look_again(self, table: str) -> None:
        """After a write to a table."""
        if self.generation.table not in table:
            return
        now = self._now()
        for group, elements in self.throughout.items():
            found = now.get(group, {})
            self.throughout[group] = {
                fact: min(count, found[fact]) for fact, count in elements.items() if fact in found
            }
        for group, elements in now.items():
            ever = self.ever.setdefault(group, {})
            ever.update({fact: max(count, ever.get(fact, 0)) for fact, count in elements.items()})

    def _now(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        part, value = self.question
        for _, _, frozen in shown(self.generation, self.store):
            columns = dict(frozen)
            key = json.loads(columns["_key"])
            if key[part] == value:
                fact = json.loads(columns["_fact"])["id"]
                found.setdefault(json.dumps(key), {})[fact] = json.loads(columns["_json"])["elements"]
        return found


@dataclass(slots=True, eq=False)
class GroupReader:
    """Reads the groups of a partition from the first to the last."""

    lookups: Lookups
    part: Groups
    page_size: int
    coverage: Coverage

    async def __call__(self) -> None:
        """Raise `ViolationError` for a count that no moment allows."""
        name, (part, value) = self.part.generation.index.name, self.part.question
        asked: dict[str, str] | None = {part: value, "maxpagesize": str(self.page_size)}
        found: dict[str, int] = {}
        while asked is not None:
            page = await self.lookups.find(name, asked)
            self.coverage[Event.READ_PAGE] += 1
            for entry in page.entries:
                group = json.dumps(entry["key"])
                if group in found:
                    raise ViolationError(f"a reader of {name} saw the group {group} twice")
                found[group] = entry["data"][_COUNTED[name]]
            asked = page.next_parameters
        self._check(name, found)

    def _check(self, name: str, found: dict[str, int]) -> None:
        self.coverage[Event.READ_GROUPS] += 1
        for group in self.part.ever.keys() | found.keys():
            least = sum(self.part.throughout.get(group, {}).values())
            most = sum(self.part.ever.get(group, {}).values())
            if not least <= found.get(group, 0) <= most:
                raise ViolationError(
                    f"a reader of {name} counted {found.get(group, 0)} in {group}, where {least} to {most} were"
                )
