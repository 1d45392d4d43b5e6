"""A scenario: programs that run at the same time after a prefix, the faults that may strike, and what must hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tests.simulation.programs import Sweep, forget_messages, messages_in, new_store
from tests.simulation.steps import Ended, Run, finish
from tests.simulation.summary_truth import broken_totals
from tests.simulation.truth import dead_letters_in, difference, expected_dead_letters, what_is_left

if TYPE_CHECKING:
    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.cleanup.sweeper import Sweeper
    from shared.tables.memory.store import Store
    from tests.simulation.steps import Program

Order = Literal["any", "first", "last"]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is explored. `crashes` and `faults` (late or lost requests) are how many may strike in one run.

    `switches`: how often the scheduler may leave a program that could go on; None for no limit. `order`: in which
    order calls are answered that one program makes at the same time. With `sweeps_beside`, a sweeper with the
    prefix's messages is one more program. With `sweeps_between`, all messages are swept before what was not
    acknowledged comes again. With `always_shown`, some entry is visible at every moment.
    """

    name: str
    plan: SourcePlan
    changes: tuple[Change, ...]
    programs: tuple[Program, ...]
    prefix: tuple[Program, ...] = ()
    crashes: int = 1
    faults: int = 0
    switches: int | None = None
    order: Order = "first"
    sweeps_before: bool = False
    sweeps_beside: bool = False
    sweeps_between: bool = False
    always_shown: bool = False
    # False when a program in it takes so long that late requests have landed or never will.
    lates: bool = True
    sweeper: type[Sweeper] | None = None
    # What an operator does when everything has come to rest.
    finally_: tuple[Program, ...] = ()
    # Whether there is a dead letter for each failure of a newest version, and no other.
    dead_letters_are_exact: bool = False
    # What comes long after, before nothing may be left: where the sweep cannot know of everything, what the docs name
    # instead, a full verification or the end of a period.
    long_after: tuple[Program, ...] = ()

    def start(self) -> tuple[Store, tuple[Program, ...]]:
        """The service after the prefix, and the programs to run on it."""
        store = new_store(self.plan)
        for program in self.prefix:
            _succeed(program, store)
        if self.sweeps_before:
            self._sweep(store)
        if not self.sweeps_beside:
            return store, self.programs
        messages = messages_in(store)
        forget_messages(store)
        return store, (*self.programs, self._sweep_of(messages))

    def _sweep_of(self, messages: list[str]) -> Sweep:
        sweep = Sweep(tuple(messages), self.plan)
        return sweep if self.sweeper is None else replace(sweep, sweeper=self.sweeper)

    def _sweep(self, store: Store) -> None:
        messages = messages_in(store)
        forget_messages(store)
        # A queue delivers at least once.
        for _ in range(2):
            _succeed(self._sweep_of(messages), store)

    def settle(self, store: Store, unfinished: tuple[Program, ...]) -> None:
        """Deliver again what was not acknowledged, unless it is never redelivered; then let the operator act."""
        if self.sweeps_between:
            self._sweep(store)
            self._sweep(store)
        redelivered = [program for program in unfinished if getattr(program, "is_redelivered", True)]
        for program in (*redelivered, *self.finally_):
            _succeed(program, store)

    def broken_now(self, store: Store) -> str | None:
        """What must never be seen: a total that is not the sum of its contributions."""
        summaries = [generation for generation in self.plan.generations if generation.layout is not None]
        return next((text for generation in summaries if (text := broken_totals(generation, store))), None)

    def problem(self, store: Store) -> str | None:
        """Sweep, then compare every index with the projection of the newest facts."""
        if self.dead_letters_are_exact and (text := wrong_dead_letters(self.plan, self.changes, store)):
            return text
        for moment in ("before", "after"):
            if text := self._differences(store):
                return f"{moment} the sweep {text}"
            if moment == "before":
                self._sweep(store)
        # What the sweep has forgotten is looked at once more; then nothing of it is left.
        self._sweep(store)
        for program in self.long_after:
            _succeed(program, store)
            self._sweep(store)
            self._sweep(store)
            if text := self._differences(store):
                return f"after the {program} {text}"
        return what_is_left(self.plan, store)

    def _differences(self, store: Store) -> str | None:
        texts = [difference(generation, self.changes, store) for generation in self.plan.generations]
        return next((text for text in texts if text), None)


def wrong_dead_letters(plan: SourcePlan, changes: tuple[Change, ...], store: Store) -> str | None:
    """How the dead letters differ from the failures of newest versions, or None."""
    wanted, found = expected_dead_letters(plan.generations, changes), dead_letters_in(store, plan.source)
    return None if wanted == found else f"dead letters: wanted {wanted}, found {found}"


def _succeed(program: Program, store: Store) -> None:
    end: Ended = finish(Run(program), store)
    if end.error is not None:
        raise end.error
