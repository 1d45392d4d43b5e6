"""The feed of a run: random versions of a few facts, in transactions, and what the feed shows of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from shared.entries.changes.cosmos_changes import last_of_each_transaction
from shared.pipeline.apply.batch import newest_of_each
from tests.simulation.random_runs.coverage import Coverage, Event
from tests.simulation.random_runs.indexes import SOURCE
from tests.worlds.world import Writer

if TYPE_CHECKING:
    from random import Random

    from shared.definitions.model import Definitions
    from shared.entries.changes.change import Change
    from tests.simulation.random_runs.choices import Choices

# Facts that are in the same place of every index all the time; the expiry of the second may move.
STEADY: Final = ("s", "t")
_OTHERS: Final = "fghijkl"
_MOVING: Final = ("2027-01-17", "2027-01-18", "2027-12-01", "2027-12-02", None, "2100-01-01")
_UNTIL: Final = (
    None,
    "2020-01-01",
    "2027-01-14T07:30:00Z",
    "2027-01-14T23:30:00Z",
    "2027-01-15",
    "2027-01-16",
    "2027-01-20",
    "2027-02-20",
    "2035-01-01",
)


class Feed:
    """Transactions in the order in which the feed delivers them. A position counts transactions."""

    def __init__(self, random: Random, choices: Choices, definitions: Definitions) -> None:
        self._random = random
        self._choices = choices
        self._writer = Writer(definitions, SOURCE)
        self._versions = 0
        self._documents: dict[str, dict[str, Any] | None] = {}
        in_order = self._in_order()
        # Where each stretch ends after which a month passes.
        months = min(choices.months, len(in_order) - 1)
        self.limits = [*sorted(random.sample(range(1, len(in_order)), months)), len(in_order)]
        self.transactions = self._shuffled(in_order) if choices.feed == "shuffled" else in_order
        # From here on every version may be shown; of what came before, only the newest are left.
        self.oldest = 0

    def __len__(self) -> int:
        return len(self.transactions)

    def newest(self, until: int | None = None) -> list[Change]:
        """The newest version of each fact."""
        return newest_of_each(last_of_each_transaction(self._changes(0, until)))

    def shown(self, start: int, end: int, limit: int, coverage: Coverage) -> list[Change]:
        """What a worker gets that reads from a position to another."""
        if self._choices.feed == "latest":
            shown = self._latest(start, end, limit, coverage)
        else:
            changes = self._changes(max(start, self.oldest), end)
            shown = last_of_each_transaction(changes)
            coverage[Event.MERGED_CHANGE] += len(changes) - len(shown)
        twice = self._random.sample(shown, min(len(shown), self._random.choice([0, 0, 1, 2])))
        coverage[Event.DELIVERED_TWICE] += len(twice)
        return [*shown, *twice]

    def again(self) -> list[Change]:
        """All that the feed can still show, from its beginning."""
        if self._choices.feed != "latest":
            return last_of_each_transaction(self._changes(self.oldest, None))
        newest = self.newest()
        return [*newest, *self._changes(self.oldest, None)]

    def _latest(self, start: int, end: int, limit: int, coverage: Coverage) -> list[Change]:
        """A version that a later one replaced may be left out; it is, once it is old."""
        newest = {change.fact_key: change for change in self.newest(limit)}
        shown = []
        for position in range(start, end):
            for change in last_of_each_transaction(self.transactions[position]):
                is_newest = newest[change.fact_key] is change
                if is_newest or (position >= self.oldest and self._random.random() < 0.7):
                    shown.append(change)
                else:
                    coverage[Event.SKIPPED_VERSION] += 1
        return shown

    def _changes(self, start: int, end: int | None) -> list[Change]:
        return [change for transaction in self.transactions[start:end] for change in transaction]

    # ------------------------------------------------------------------------------------------ the history

    def _in_order(self) -> list[tuple[Change, ...]]:
        random = self._random
        facts = _OTHERS[: random.randint(1, len(_OTHERS))]
        transactions: list[tuple[Change, ...]] = [(self._change(fact),) for fact in STEADY]
        for _ in range(random.randint(2, self._choices.changes_max)):
            # One fact has more versions than the others.
            often = STEADY[1] if self._choices.moves_expiry else facts[0]
            fact = random.choice([*facts, *STEADY, often, often])
            transactions.append(self._transaction(fact, facts))
        return transactions

    def _transaction(self, fact: str, facts: str) -> tuple[Change, ...]:
        """One change, or several that share their clock: of an all versions feed."""
        if self._choices.feed != "all versions" or fact in STEADY or self._random.random() < 0.7:
            return (self._change(fact),)
        self._versions += 1
        others = self._random.choices([fact, *facts], k=self._random.randint(1, 2))
        return tuple(self._change(each, self._versions) for each in (fact, *others))

    def _change(self, fact: str, version: int | None = None) -> Change:
        if version is None:
            self._versions += 1
            version = self._versions
        # Now and then a fact is written again as it is.
        if fact not in self._documents or self._random.random() < 0.7:
            self._documents[fact] = self._steady(fact) if fact in STEADY else self._document()
        change = self._writer.change(fact, self._documents[fact], version)
        # The facts of a hub cannot be read again: they have no ETag.
        return replace(change, source_etag=None) if self._choices.feed == "shuffled" else change

    def _shuffled(self, in_order: list[tuple[Change, ...]]) -> list[tuple[Change, ...]]:
        """Partitions of a hub lag behind each other, but not by a month."""
        shuffled, start = [], 0
        for limit in self.limits:
            stretch = in_order[start:limit]
            self._random.shuffle(stretch)
            shuffled += stretch
            start = limit
        return shuffled

    def _steady(self, fact: str) -> dict[str, Any]:
        random = self._random
        until = "2100-01-01" if fact == "t" else None
        if fact == "t" and self._choices.moves_expiry:
            until = random.choice(_MOVING)
        return {
            "town": "S",
            "name": fact,
            "phone": random.choice("xyz"),
            "homes": ["A", "B"],
            "hidden": False,
            "group": "g",
            "rank": 5 if fact == "s" else 6,
            "spent": random.choice([0.1, 0.2]),
            "until": until,
        }

    def _document(self) -> dict[str, Any] | None:
        """A few values each, so that keys stay, change, come back and collide; now and then poison or deleted."""
        random = self._random
        if random.random() < 0.15:
            return None
        return {
            "town": random.choice(["A", "B", "S", None]),
            "name": random.choice("mnsu"),
            "phone": random.choice("xy"),
            "homes": random.sample(["A", "B", "C"], random.randint(0, 3)),
            "hidden": random.random() < 0.2,
            "group": random.choice(["g", "k"]),
            "until": random.choice(_UNTIL),
            # What is no number cannot be in `by-rank`.
            "rank": random.choice([1, 5, "poison"]) if random.random() < 0.5 else 1,
            "spent": random.choice([0.1, 0.2, 0.3, 2, -7.05, None]) if random.random() < 0.95 else "poison",
        }
