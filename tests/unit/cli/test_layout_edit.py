"""Shards and hot values are changed in the text of a definitions file; everything else stays as it was written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cli.layout_edit import with_layout
from shared.definitions.loading.load import load

HEAD = """\
# What we serve.
version: 1
sources: {people: {cosmos: {database: d, container: people}}}
indexes:
"""
FLOW = (
    HEAD
    + """\
  by-town: {source: people, partition: town, sort: name}  # the busy one
  other: {source: people, partition: x}
"""
)
BLOCK = (
    HEAD
    + """\
  by-town:
    source: people   # people live somewhere
    partition: town
    project:
      - phone
      - email

  # another one
  other:
    source: people
    partition: x
"""
)
PRESENT = (
    HEAD
    + """\
  by-town:
    source: people
    shards: 4  # by the book
    partition: town
    hot:
      Oslo: 8
      "New York": 32
    sort: name
"""
)


@pytest.mark.parametrize("text", [FLOW, BLOCK, PRESENT, BLOCK.replace("\n", "\r\n"), FLOW.rstrip("\n")])
@pytest.mark.parametrize(("shards", "hot"), [(16, {}), (None, {"Redmond": 16}), (2, {"a: b": 3, 'say "hi"': 4})])
def test_only_the_layout_of_the_index_changes(text: str, shards: int | None, hot: dict[str, int]) -> None:
    """All other definitions are equal, and every comment is still there."""
    before = load(text).require()
    after = load(with_layout(text, "by-town", shards, hot)).require()
    old, new = before.indexes["by-town"], after.indexes["by-town"]
    had: dict[object, int] = dict(old.hot)
    assert new.shards == (old.shards if shards is None else shards)
    had.update(hot)
    assert dict(new.hot) == had
    assert replace(new, shards=old.shards, hot=old.hot) == old
    assert {name: one for name, one in after.indexes.items() if name != "by-town"} == {
        name: one for name, one in before.indexes.items() if name != "by-town"
    }
    comments = [line.partition("#")[2] for line in text.splitlines() if "#" in line]
    assert all(comment in with_layout(text, "by-town", shards, hot) for comment in comments)


def test_a_key_goes_behind_the_last_one() -> None:
    """As somebody would write it."""
    assert with_layout(BLOCK, "by-town", 16, {}) == BLOCK.replace("      - email\n", "      - email\n    shards: 16\n")
    assert with_layout(FLOW, "by-town", 16, {}) == FLOW.replace("sort: name}", "sort: name, shards: 16}")


def test_a_value_that_is_there_is_replaced() -> None:
    """With its comment left."""
    assert with_layout(PRESENT, "by-town", 8, {}) == PRESENT.replace("shards: 4 ", "shards: 8 ")
