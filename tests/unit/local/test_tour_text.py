"""What the tour prints."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from cli.commands import count, query
from local.run.tour_text import TRY_NEXT, WIDTH, definition_of, shown
from tests.support import ROOT


def test_a_definition_is_shown_as_it_is_written() -> None:
    """With its comment, and nothing of its neighbours; also the last one of the file."""
    file = ROOT / "indexes.yaml"
    text = definition_of(file, "movies-by-actor")
    assert text.startswith("  # One entry per actor;")
    assert text.endswith("    where: released")
    assert f"{text}\n" in file.read_text()
    assert definition_of(file, "order-totals").endswith("largest: {max: total}")


@pytest.mark.parametrize("text", [TRY_NEXT, query._EXAMPLES, count._EXAMPLES])
def test_the_first_lookup_to_try_finds_something(text: str) -> None:
    """Among the samples, which a local run has."""
    (asked,) = re.findall(r"customers-by-town town=(\w+) lastName.prefix=(\w+)$", text, re.MULTILINE)
    lines = (ROOT / "local" / "run" / "samples" / "customers.jsonl").read_text(encoding="utf-8").splitlines()
    assert [
        customer
        for customer in map(json.loads, lines)
        if customer.get("town") == asked[0] and customer["lastName"].startswith(asked[1])
    ]


@pytest.mark.parametrize("value", [[], {}, {"a": []}, {"a": ["b" * 50] * 5, "c": {"d": "e" * 200, "f": {}}}, "ä", None])
def test_an_answer_is_shown_whole(value: Any) -> None:
    """In lines that fit, unless one value alone is longer."""
    text = shown(value)
    assert json.loads(text) == value
    assert [line for line in text.splitlines() if len(line) > WIDTH and "e" * 200 not in line] == []
