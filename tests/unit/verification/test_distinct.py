"""How many different facts passed by."""

from __future__ import annotations

from hashlib import sha256

import pytest

from shared.verification.distinct import KEPT_MAX, DistinctFacts


def passed(count: int, times: int = 1) -> DistinctFacts:
    """So many facts, each so many times, taken apart and together on the way."""
    found = DistinctFacts()
    for _ in range(times):
        for number in range(count):
            found.add(int.from_bytes(sha256(str(number).encode()).digest()[:8], "big"))
        found = DistinctFacts(found.plain())
    return found


@pytest.mark.parametrize("count", [0, 1, 60, KEPT_MAX - 1])
def test_some_thousand_facts_are_counted_exactly(count: int) -> None:
    """However often each of them passes."""
    assert passed(count, times=2).count() == count


@pytest.mark.parametrize("count", [KEPT_MAX, 5_000, 50_000])
def test_more_are_estimated_within_a_few_percent(count: int) -> None:
    """In memory that does not grow."""
    found = passed(count)
    assert found.count() == pytest.approx(count, rel=0.07)
    assert len(found.plain()) == KEPT_MAX
