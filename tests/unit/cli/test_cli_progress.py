"""Lines of progress: how fast it goes, and how long it still takes where anybody can tell."""

from __future__ import annotations

from typing import Any

from cli.progress import Pace
from cli.service.builds import BuildProgress
from cli.service.verifications import VerificationProgress


def build(facts: int, slices_done: int, slices: int = 8) -> dict[str, Any]:
    """A build as in the API's answer."""
    counts = {"facts": facts, "entries": facts, "transactions": 3}
    return {"notBefore": "2026-11-17T16:00:00+00:00", "slices": slices, "slicesDone": slices_done, "counts": counts}


def verification(rows: int, examined: int = 0, sample: int | None = None) -> dict[str, Any]:
    """A verification as in the API's answer."""
    counts = {"facts": rows, "ledgerRows": 0, "rows": 0, "examined": examined, "total": 0}
    return {"index": "by-town", "sample": sample, **counts}


def test_the_rest_takes_as_long_as_what_was_done() -> None:
    """What was there before the first look says nothing about the pace."""
    pace = Pace(done=100, now_seconds=10)
    assert pace.rate(done=150, now_seconds=15) == 10
    assert pace.left(done=150, total=450, now_seconds=15) == "30 s left"


def test_nothing_is_said_of_the_rest_before_anything_is_done() -> None:
    """Nor when there is more than was expected."""
    pace = Pace(done=100, now_seconds=10)
    assert pace.left(done=100, total=450, now_seconds=15) == ""
    assert pace.left(done=150, total=120, now_seconds=15) == ""


def test_a_build_tells_its_rate_and_how_long_it_still_takes() -> None:
    """By the share of slices done: the number of facts is not known."""
    progress = BuildProgress("by-town")
    progress.line(build(facts=1000, slices_done=2), now_seconds=0)
    line = progress.line(build(facts=3000, slices_done=4), now_seconds=10)
    assert line == "by-town: 3,000 facts  200/s  3 transactions  4 of 8 slices (50%)  20 s left"


def test_a_build_that_waits_for_its_moment_says_so() -> None:
    """And the time that it waits does not slow it down."""
    progress = BuildProgress("by-town")
    waits = progress.line({**build(0, 0), "counts": {}}, now_seconds=0)
    assert waits.endswith("from 2026-11-17T16:00:00+00:00 on; it is built then")
    progress.line(build(facts=0, slices_done=0), now_seconds=1000)
    assert progress.line(build(facts=10, slices_done=4), now_seconds=1010).endswith("4 of 8 slices (50%)  10 s left")


def test_a_verification_takes_as_long_as_the_rows_that_are_expected() -> None:
    """Those of the last one, or of the build."""
    progress = VerificationProgress(expected_rows=4000)
    progress.line(verification(rows=0), now_seconds=0)
    assert progress.line(verification(rows=1000), now_seconds=5).endswith("0 differences  15 s left")


def test_a_second_look_at_everything_begins_anew() -> None:
    """Its counts do, too."""
    progress = VerificationProgress(expected_rows=4000)
    progress.line(verification(rows=0), now_seconds=0)
    progress.line(verification(rows=4000), now_seconds=100)
    progress.line(verification(rows=0), now_seconds=100)
    assert progress.line(verification(rows=2000), now_seconds=110).endswith(
        "200/s  0 looked at  0 differences  10 s left"
    )


def test_a_verification_of_unknown_size_tells_its_rate_only() -> None:
    """As of an index that was filled by its feed and never verified."""
    progress = VerificationProgress(expected_rows=None)
    progress.line(verification(rows=0), now_seconds=0)
    assert progress.line(verification(rows=1000), now_seconds=5).endswith("200/s  0 looked at  0 differences")


def test_a_sample_is_as_large_as_was_asked_for() -> None:
    """Facts that were looked at, of all of the sample."""
    progress = VerificationProgress(expected_rows=None)
    progress.line(verification(rows=0, sample=500), now_seconds=0)
    assert progress.line(verification(rows=0, examined=100, sample=500), now_seconds=5).endswith("20 s left")
