"""Hosts share leases evenly, whatever the state they find."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from local.host.triggers.cosmos.balance import Holding, leases_to_take

if TYPE_CHECKING:
    from random import Random


def test_a_host_alone_takes_every_free_lease() -> None:
    """Also those of hosts that have gone."""
    assert leases_to_take([Holding("a", None), Holding("b", None)], "me") == ["a", "b"]


def test_a_second_host_takes_over_one_lease_at_a_time() -> None:
    """From the host that has most."""
    assert leases_to_take([Holding(name, "first") for name in "abcd"], "second") == ["a"]


def test_a_fair_share_is_left_alone() -> None:
    """Nothing moves once the counts differ by at most one."""
    holdings = [Holding("a", "first"), Holding("b", "first"), Holding("c", "second")]
    assert leases_to_take(holdings, "first") == leases_to_take(holdings, "second") == []


@given(st.integers(0, 12), st.integers(1, 5), st.randoms(use_true_random=False))
def test_taking_turns_ends_in_an_even_distribution(leases: int, hosts: int, random: Random) -> None:
    """From any start, and then nobody takes anything any more."""
    names = [f"host{number}" for number in range(hosts)]
    owners: dict[str, str | None] = {f"lease{number}": random.choice([None, *names]) for number in range(leases)}
    for _ in range(leases + 1):
        for name in names:
            holdings = [Holding(lease, owner) for lease, owner in owners.items()]
            owners.update(dict.fromkeys(leases_to_take(holdings, name), name))
    counts = Counter(dict.fromkeys(names, 0))
    counts.update(owner for owner in owners.values() if owner)
    assert sum(counts.values()) == leases
    assert max(counts.values()) - min(counts.values()) <= 1
