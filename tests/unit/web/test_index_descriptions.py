"""What the API says of an index is what its definition says: with it, the definition can be written again."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from shared.definitions.loading.load import load
from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.memory.memory_tables import MemoryTables
from shared.web.access import Rights
from shared.web.api.index_descriptions import describe
from shared.web.api.lookups import LookupApi
from shared.web.principal import Principal

SOURCE = "version: 1\nsources: {people: {cosmos: {database: test, container: people}, partitionKey: id}}\n"


def described(definition: str) -> dict[str, Any]:
    """An index with this definition, as the API shows it."""
    loaded = load(f"{SOURCE}indexes:\n  by-town: {{source: people, partition: {definition}}}\n", "indexes.yaml")
    assert not loaded.faults, loaded.faults
    definitions = loaded.definitions
    return {**describe(definitions.indexes["by-town"], definitions.sources["people"], "serving", "g")}


def test_a_plain_index_has_no_layout() -> None:
    """What a definition does not say is left out."""
    assert described("town").keys().isdisjoint({"hot", "expire", "placement", "each", "where", "summarize"})


@pytest.mark.parametrize(
    ("definition", "member", "shown"),
    [
        ("town, hot: {Redmond: 4}", "hot", {"Redmond": 4}),
        ("{path: age, type: integer}, hot: {'7': 2}", "hot", {"7": 2}),
        ("{path: paid, type: boolean}, hot: {'true': 2}", "hot", {"true": 2}),
        ("town, expire: {path: at, after: 90d}", "expire", {"path": "at", "after": "90d"}),
        ("town, expire: {path: at, after: 90s}", "expire", {"path": "at", "after": "90s"}),
        (
            "town, expire: {path: at, after: 36h, tables: day}",
            "expire",
            {"path": "at", "after": "36h", "tables": "day"},
        ),
        ("town, placement: {by: hash, accounts: [A, B]}", "placement", {"by": "hash", "accounts": ["A", "B"]}),
        (
            "town, placement: {by: list, map: {Oslo: A}, default: B}",
            "placement",
            {"by": "list", "map": {"Oslo": "A"}, "default": "B"},
        ),
        (
            "town, placement: {by: range, map: [{to: m, account: A}, {from: m, account: B}]}",
            "placement",
            {"by": "range", "map": [{"to": "m", "account": "A"}, {"from": "m", "account": "B"}]},
        ),
    ],
)
def test_a_layout_is_shown_as_it_is_written(definition: str, member: str, shown: object) -> None:
    """Shards of single values, expiry, and storage accounts."""
    assert described(definition)[member] == shown


@pytest.mark.parametrize(
    ("roles", "is_shown"),
    [(("Index.Read",), False), (("Index.Read", "Index.Operate"), True)],
    ids=["bound", "operator"],
)
@pytest.mark.parametrize(
    "layout", ["hot: {Redmond: 4}", "placement: {by: list, map: {Redmond: A}, default: B}"], ids=["hot", "placement"]
)
async def test_values_of_others_are_not_described_to_a_caller_whose_part_is_bound(
    layout: str, roles: tuple[str, ...], is_shown: bool
) -> None:
    """A town with a table account of its own is nobody else's business."""
    index = f"{{source: people, partition: town, {layout}, access: {{readers: [Index.Read], bind: {{town: at}}}}}}"
    definitions = load(f"{SOURCE}indexes:\n  by-town: {index}\n").require()
    generations = DefinedGenerations(definitions)
    lookups = Lookups(generations, Replicas(MemoryTables()), PageTokens(b"key"))
    rights = Rights(definitions.access, Principal({"roles": roles, "at": ("Oslo",)}))
    answer = await LookupApi(definitions, generations, lookups, rights).index("by-town", "http://localhost/")
    assert (layout.partition(":")[0] in orjson.loads(answer.body)) is is_shown
    assert (b"Redmond" in answer.body) is is_shown
