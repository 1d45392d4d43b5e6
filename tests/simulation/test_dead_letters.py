"""Dead letters under every interleaving: in the end there is one for each change that does not fit, and no other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from shared.entries.projection.generations import plan_of
from tests.simulation.histories import PLAN, POISON, history, workers
from tests.simulation.programs import NOW_SECONDS, CloseOutdated, Retain, Worker, batches_of
from tests.simulation.scenario import Scenario
from tests.simulation.test_every_interleaving import holds
from tests.worlds.world import TOWNS, Writer, definitions_of

DAY = 86_400
# An index that a fact does not fit, and one whose entry of the fact expires with its table.
BY_DAY = "{source: people, partition: name, project: keys, expire: {path: until, after: 1d, tables: day}}"
EXPIRING = plan_of(definitions_of(f"{TOWNS}  by-day: {BY_DAY}\n"), "people")


@dataclass(frozen=True, slots=True)
class Overtaken(Worker):
    """A worker whose lease is gone: when it ends, nothing brings its batch again, since its successor is further on."""

    is_redelivered: bool = False


@pytest.mark.parametrize("specs", [(POISON, "A:x"), ("A:x", POISON, "A:y"), (POISON, None), (POISON, POISON)])
def test_an_overtaken_worker_ends_after_its_dead_letter(specs: tuple[str | None, ...]) -> None:
    """It did not look again, and its successor looked before it: the timer closes what is outdated."""
    versions = history(*specs)
    overtaken = Overtaken(PLAN, batches_of(versions[-2]), reads_first=True)
    successor = Worker(PLAN, batches_of(*versions[-2:]), reads_first=True)
    scenario = Scenario(
        "overtaken",
        PLAN,
        versions,
        (overtaken, successor),
        workers(versions[:-2]),
        crashes=1,
        finally_=(CloseOutdated(PLAN),),
        dead_letters_are_exact=True,
    )
    holds(scenario)
    if specs == (POISON, "A:x"):
        holds(replace(scenario, programs=(*scenario.programs, CloseOutdated(PLAN)), switches=2))


def test_the_fact_of_a_dead_letter_is_forgotten_while_its_change_comes_again() -> None:
    """Its entry in another index expired long ago. It still does not fit, and its dead letter says so."""
    document = {"town": {"is": "no text"}, "name": "n", "until": "2026-01-01"}
    (change,) = (Writer(definitions_of(TOWNS), "people").change("f", document),)
    long_ago = Worker(EXPIRING, batches_of(change), now_seconds=NOW_SECONDS - 400 * DAY)
    again = Worker(EXPIRING, batches_of(change), reads_first=True)
    holds(
        Scenario(
            "forgotten",
            EXPIRING,
            (change,),
            (again, Retain(EXPIRING, 30 * DAY)),
            (long_ago,),
            crashes=1,
            finally_=(CloseOutdated(EXPIRING),),
            dead_letters_are_exact=True,
        )
    )
