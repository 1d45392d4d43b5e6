"""Sentences that point from a name that is unknown to names that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with the nearest known name in quotes, or with all of them."""
    names = sorted(known)
    found = [f'"{near}"' for near in _nearest(name, names, 1)]
    return _sentence(found, names)


def did_you_mean_one_of(name: str, known: Iterable[str]) -> str:
    """A sentence with the three nearest known names, or with all of them."""
    names = sorted(known)
    return _sentence(_nearest(name, names, 3), names)


def _nearest(name: str, names: list[str], count: int) -> list[str]:
    # Only faults need it, and an app that starts has none.
    from difflib import get_close_matches

    lowered = {each.lower(): each for each in names}
    return [lowered[near] for near in get_close_matches(name.lower(), lowered, n=count, cutoff=0.6)]


def _sentence(found: list[str], names: list[str]) -> str:
    if found:
        return f"Did you mean {' or '.join(found)}?"
    return f"Known are: {', '.join(names)}." if names else "There are none."
