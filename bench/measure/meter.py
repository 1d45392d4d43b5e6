"""Takes a subject and its yardsticks through the same rounds, in turns, and sums up what they cost.

In turns, because a machine is never quiet: what disturbs one round disturbs both sides of its ratio.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bench.errors import BenchError
from bench.measure.case import SYSTEM_CLOCKS, Case, Clocks, Sample
from bench.measure.measurement import Bar, Cost, Counts, Measurement, Ratio, Timing, Verdict
from bench.measure.spread import Spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Meter:
    """What every workload is given: it decides how much is measured, the workload decides what."""

    rounds: int
    scale: float = 1.0
    clocks: Clocks = SYSTEM_CLOCKS
    warms_up: bool = True
    # What `--distance NAME=VALUE` says of the service's distance.
    distance: Mapping[str, str] = field(default_factory=dict)

    def scaled(self, operations: int) -> int:
        """A workload's usual number of operations, at the scale that was asked for."""
        return max(1, round(operations * self.scale))

    def at_most(self, rounds: int) -> Meter:
        """The same meter with no more rounds than these, for what takes long and spreads little."""
        return replace(self, rounds=min(rounds, self.rounds))

    def once(self) -> Meter:
        """One round and none before it, for what is counted rather than timed."""
        return replace(self, rounds=1, warms_up=False)

    async def compare(
        self,
        name: str,
        *,
        unit: str,
        subject: Case,
        yardsticks: Sequence[Case] = (),
        bars: Sequence[Bar] = (),
    ) -> Measurement:
        """Measure `subject` and `yardsticks` in turns; `bars` are held against the medians."""
        cases = [subject, *yardsticks]
        _check_names(name, cases, bars)
        samples = await self._samples(cases)
        timings = [_timing(name, case, samples[case.name]) for case in cases]
        ratios = tuple(
            Ratio(case.name, _ratio(name, case.name, samples[subject.name], samples[case.name])) for case in yardsticks
        )
        verdicts = tuple(_verdict(bar, timings[0], ratios) for bar in bars)
        return Measurement(name, unit, timings[0], tuple(timings[1:]), ratios, verdicts)

    async def _samples(self, cases: Sequence[Case]) -> dict[str, list[Sample]]:
        """One round that is thrown away (caches, connections), then the rounds that count."""
        for case in cases if self.warms_up else ():
            await case.sample(self.clocks)
        samples: dict[str, list[Sample]] = {case.name: [] for case in cases}
        for number in range(self.rounds):
            # Every second round runs backwards, so that no case always follows the same neighbour.
            for case in cases if number % 2 == 0 else reversed(cases):
                samples[case.name].append(await case.sample(self.clocks))
        return samples


def _check_names(name: str, cases: Sequence[Case], bars: Sequence[Bar]) -> None:
    names = [case.name for case in cases]
    if len(set(names)) < len(names):
        raise BenchError(f"Measurement '{name}' has two cases of one name in {names}: rename one.")
    for bar in bars:
        if bar.against is not None and bar.against not in names[1:]:
            raise BenchError(
                f"Measurement '{name}' has a bar against '{bar.against}', which is none of its yardsticks "
                f"{names[1:]}: add that yardstick or correct the bar."
            )


def _timing(measurement: str, case: Case, samples: Sequence[Sample]) -> Timing:
    wall = Spread.of([sample.wall_seconds for sample in samples])
    cpu = Spread.of([sample.cpu_seconds for sample in samples])
    return Timing(case.name, case.operations, Cost(wall, cpu), _exact_counts(measurement, case.name, samples))


def _exact_counts(measurement: str, case: str, samples: Sequence[Sample]) -> Counts:
    for sample in samples:
        if sample.counts != samples[0].counts:
            raise BenchError(
                f"'{case}' in measurement '{measurement}' counted {dict(samples[0].counts)} in one round and "
                f"{dict(sample.counts)} in another: make the workload deterministic, or drop that count."
            )
    return samples[0].counts


def _ratio(measurement: str, yardstick: str, mine: Sequence[Sample], its: Sequence[Sample]) -> Cost:
    if any(sample.wall_seconds <= 0 or sample.cpu_seconds <= 0 for sample in its):
        raise BenchError(
            f"'{yardstick}' in measurement '{measurement}' took no time that the clocks can see: "
            "let it do more operations per round."
        )
    pairs = list(zip(mine, its, strict=True))
    return Cost(
        Spread.of([m.wall_seconds / i.wall_seconds for m, i in pairs]),
        Spread.of([m.cpu_seconds / i.cpu_seconds for m, i in pairs]),
    )


def _verdict(bar: Bar, subject: Timing, ratios: Sequence[Ratio]) -> Verdict:
    cost = next((ratio.times for ratio in ratios if ratio.against == bar.against), subject.seconds)
    median = cost.by(bar.clock).median
    return Verdict(bar, median, median <= bar.at_most)
