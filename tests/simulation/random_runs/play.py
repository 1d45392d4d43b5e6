"""Plays seeds, in several processes if there are cores for them, and adds up what they covered."""

from __future__ import annotations

import gc
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

from tests.simulation.random_runs.coverage import Coverage
from tests.simulation.random_runs.simulation import Simulation
from tests.simulation.steps import ViolationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# So many runs are one piece of work.
_CHUNK: Final = 25


@dataclass(frozen=True, slots=True)
class Violation:
    """A run in which something was wrong."""

    seed: int
    problem: str
    trace: tuple[str, ...]

    def __str__(self) -> str:
        again = f"python -m tests.simulation --seeds {self.seed}"
        return "\n".join([*self.trace, f"seed {self.seed}: {self.problem}", f"play it again with: {again}"])


@dataclass(slots=True)
class Played:
    """What came of some seeds."""

    runs: int = 0
    coverage: Coverage = field(default_factory=Coverage)
    violations: list[Violation] = field(default_factory=list)

    def add(self, other: Played) -> None:
        """Add the outcome of other seeds."""
        self.runs += other.runs
        self.coverage += other.coverage
        self.violations += other.violations


def play(seeds: Sequence[int]) -> Played:
    """Play some seeds, one after the other."""
    played = Played()
    # A run makes no cycles worth looking for while it lasts.
    gc.disable()
    try:
        for seed in seeds:
            played.runs += 1
            _play_one(seed, played)
    finally:
        gc.enable()
        gc.collect()
    return played


def _play_one(seed: int, played: Played) -> None:
    simulation = Simulation(Random(seed))
    try:
        simulation.run()
    except ViolationError as error:
        played.violations.append(Violation(seed, str(error), tuple(simulation.trace())))
    except Exception as error:  # whatever the code under test raises is a finding, with the seed that shows it
        problem = f"{type(error).__name__}: {error}\n{''.join(traceback.format_exception(error))}"
        played.violations.append(Violation(seed, problem, tuple(simulation.trace())))
    played.coverage += simulation.coverage


def play_in(processes: int, seeds: Sequence[int]) -> Iterator[Played]:
    """Play seeds in so many processes; give what came of each part."""
    parts = [seeds[start : start + _CHUNK] for start in range(0, len(seeds), _CHUNK)]
    if processes == 1:
        yield from map(play, parts)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(play, parts)
