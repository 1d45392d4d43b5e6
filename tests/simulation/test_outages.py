"""An index account that is down, under every interleaving: nothing waits for it, and nothing is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shared.pipeline.apply import claim_batch, settle_debts
from tests.simulation.debts import PLAN, Deliver, OutageScenario, Process, X
from tests.simulation.explore import Explorer
from tests.simulation.histories import Spec, history
from tests.simulation.outages import Outage
from tests.simulation.programs import batches_of

if TYPE_CHECKING:
    from tests.simulation.steps import Program

ALL: tuple[tuple[Spec, ...], ...] = (
    ("A:x", "A:y"),
    ("A:x", "Z:x"),
    ("Z:x", "A:x"),
    ("A:x", None),
    ("A:x", "Z:x", "A:x"),
    ("A:x", "B:x", "C:x"),
    ("A:x", None, "A:y"),
)


def around_an_outage(specs: tuple[Spec, ...], switches: int, *, sweeps_beside: bool = False) -> OutageScenario:
    """The last two versions come to two workers, while the account goes down and comes back and a delivery runs."""
    versions = history(*specs)
    prefix = (Process(PLAN, batches_of(*versions[:-2])),) if len(versions) > 2 else ()
    programs: tuple[Program, ...] = (
        *[Process(PLAN, batches_of(change), attempts=1) for change in versions[-2:]],
        Outage(X),
        Deliver(PLAN),
    )
    return OutageScenario(
        "outage", PLAN, versions, programs, prefix, crashes=1, switches=switches, sweeps_beside=sweeps_beside
    )


def holds(scenario: OutageScenario) -> None:
    """No interleaving ends wrong."""
    report = Explorer(scenario).run()
    assert report.problem is None, report


@pytest.mark.parametrize("specs", ALL[:4], ids=str)
def test_an_account_goes_down_and_comes_back_beside_two_workers(specs: tuple[Spec, ...]) -> None:
    """Whatever both of them believe of it, and one may die."""
    holds(around_an_outage(specs, 2))


@pytest.mark.long
@pytest.mark.parametrize("specs", ALL, ids=str)
def test_the_same_with_more_preemptions(specs: tuple[Spec, ...]) -> None:
    """And with a sweep beside it."""
    holds(around_an_outage(specs, 3, sweeps_beside=True))


def test_the_search_finds_what_was_claimed_and_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A negative control: a worker that acknowledges without a debt."""
    monkeypatch.setattr(settle_debts, "_owing", lambda state, account, now_seconds: state)
    report = Explorer(around_an_outage(("A:x", "A:y"), 2)).run()
    assert report.problem is not None


def test_the_search_finds_a_debt_without_its_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """A negative control: the claim freezes a share, and nothing leads a delivery to it."""
    monkeypatch.setattr(claim_batch, "debt_changes", lambda key, before, after, change: ())
    report = Explorer(around_an_outage(("A:x", "A:y"), 2)).run()
    assert report.problem is not None
