"""How much work expressions may do on one fact, in steps.

Steps and not seconds: a fact is a dead letter on every machine or on none, also when it is verified or built again.
"""

from __future__ import annotations

from typing import Any, Final

# A step takes up to a microsecond, so a budget takes less than half a second. The sum of a field over 100 000 elements,
# the most that documents of 2 MB have in practice, takes 300 000.
STEPS_MAX: Final = 500_000
# Text is compared, joined and written faster than nodes are visited.
CHARACTERS_PER_STEP: Final = 100
# Writing an integer takes time that grows with the square of its digits, of which JSON may have 4 300.
_BITS_PER_STEP: Final = 64


class OutOfStepsError(Exception):
    """The budget is used up. It is no `ValueError`, so that no function of JMESPath takes it for one of its own."""


class StepBudget:
    """The steps that are left for the expressions of one fact, or for the filters of one call."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = STEPS_MAX

    def refill(self) -> None:
        """Begin another fact."""
        self.left = STEPS_MAX

    def spend(self, steps: int) -> None:
        """Take steps, before the work that they stand for; raises `OutOfStepsError` when there are not so many."""
        self.left -= steps
        if self.left < 0:
            raise OutOfStepsError


def weight(value: Any, most: int) -> int:
    """The steps to go through a value and all that is in it; something above `most` when it is more than that."""
    steps = 0
    waiting = [value]
    while waiting and steps <= most:
        found = waiting.pop()
        steps += 1
        if isinstance(found, str):
            steps += len(found) // CHARACTERS_PER_STEP
        elif isinstance(found, list):
            waiting += found
        elif isinstance(found, dict):
            steps += sum(map(len, found)) // CHARACTERS_PER_STEP
            waiting += found.values()
        elif type(found) is int:
            steps += found.bit_length() // _BITS_PER_STEP
    return steps
