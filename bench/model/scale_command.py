"""`python -m bench scale`: the simulator's answer for one load, or for the usual four."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.measure import result
from bench.model import scale_text
from bench.model.answers import SIZES, answer
from bench.model.azure import Load, azure_of
from bench.model.demand import read_demands

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> str:
    """The table, and what it rests on."""
    measured = result.read(options.result)
    demands = read_demands(measured, f"{options.keys} keys", options.indexes)
    azure = azure_of(measured)
    azure = replace(
        azure,
        call_seconds=options.call_ms / 1000,
        poll_seconds=options.poll_seconds,
        calls_at_once=options.calls_at_once or azure.calls_at_once,
    )
    answers = [answer(_load(facts, options), azure, demands) for facts in options.facts or SIZES]
    return f"{scale_text.table(answers, demands)}\n\n{scale_text.assumptions(azure, demands)}"


def _load(facts: float, options: Namespace) -> Load:
    """Rates that are not given are once a day for every fact."""
    daily = Load.daily(facts)
    changes, lookups = options.changes_per_second, options.lookups_per_second
    return replace(
        daily,
        changes_per_second=daily.changes_per_second if changes is None else changes,
        lookups_per_second=daily.lookups_per_second if lookups is None else lookups,
        indexes=options.indexes,
        hot_share=options.hot_share,
        shards=options.shards,
    )
