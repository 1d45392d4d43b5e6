"""The time that entries expire by: this machine's, unless the storage service says something else."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import formatdate

import pytest

from shared.tables.clock import ServiceClock

NOW = 1_800_000_000.0
DAY_SECONDS = 86_400


@dataclass
class Machine:
    """A machine with a wall clock that can be set, and a steady one that cannot."""

    wall_seconds: float = NOW
    steady_seconds: float = 5000.0

    def clock(self) -> ServiceClock:
        """Its clock."""
        return ServiceClock(lambda: self.wall_seconds, lambda: self.steady_seconds)

    def passes(self, seconds: float) -> None:
        """Let time go by."""
        self.wall_seconds += seconds
        self.steady_seconds += seconds


@pytest.fixture
def machine() -> Machine:
    """One whose clock is right."""
    return Machine()


def test_before_the_first_answer_there_is_only_the_machine(machine: Machine) -> None:
    """Nothing has been read yet that could expire."""
    assert machine.clock().now_seconds() == NOW


def test_a_clock_that_agrees_is_used_to_the_fraction_of_a_second(machine: Machine) -> None:
    """Answers tell whole seconds and take some time."""
    clock = machine.clock()
    clock.hear(formatdate(NOW - 3, usegmt=True))
    machine.passes(10.25)
    assert clock.now_seconds() == NOW + 10.25


@pytest.mark.parametrize("jump", [60 * DAY_SECONDS, -60 * DAY_SECONDS])
def test_a_clock_that_jumps_is_noticed_without_another_answer(machine: Machine, jump: float) -> None:
    """A decision at that moment comes before the next request to the service."""
    clock = machine.clock()
    clock.hear(formatdate(NOW, usegmt=True))
    machine.passes(100)
    machine.wall_seconds += jump
    assert clock.now_seconds() == NOW + 100
    machine.passes(7)
    assert clock.now_seconds() == NOW + 107
    machine.wall_seconds -= jump
    assert clock.now_seconds() == NOW + 107


def test_a_machine_that_starts_with_a_wrong_clock_learns_the_time_from_the_first_answer(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    """And says so."""
    clock = machine.clock()
    clock.hear(formatdate(NOW - DAY_SECONDS, usegmt=True))
    assert clock.now_seconds() == NOW - DAY_SECONDS
    (record,) = caplog.records
    assert (record.message, vars(record)["ahead_seconds"]) == (
        "The clock of this machine is wrong; the storage service's time is used",
        DAY_SECONDS,
    )


@pytest.mark.parametrize("date", [None, "", "yesterday", "Tue, 99 Foo 2026 25:61:61 GMT"])
def test_what_is_no_time_says_nothing(machine: Machine, date: str | None) -> None:
    """An answer may come from a proxy."""
    clock = machine.clock()
    clock.hear(date)
    assert clock.now_seconds() == NOW
