"""Generation ids, table names, and what a changed file would do."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.definitions.compare import MigrationStep, compare
from shared.definitions.compiled import source_from_plain
from shared.definitions.identity import generation_id, table_name
from shared.definitions.loading.load import load
from shared.definitions.model import Expire, Index, KeyPart
from shared.entries.keys.periods import is_of_period, table_of, without_period

if TYPE_CHECKING:
    from shared.definitions.model import Definitions

HEAD = """
version: 1
sources:
  customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId%s}
indexes:
"""
BASE = "source: customers, partition: town, sort: lastName, project: [phone, email]"


def definitions(body: str, source: str = "") -> Definitions:
    return load(HEAD % source + body).require()


def generation(body: str, source: str = "") -> str:
    made = definitions(f"  i: {{{body}}}", source)
    return generation_id(made.indexes["i"], made.sources["customers"])


@pytest.mark.parametrize(
    "body",
    [
        "project: [email, phone], sort: [lastName], partition: {path: town, order: asc}, source: customers",
        BASE + ", shards: 1",
        BASE + ", where: null",
    ],
)
def test_an_edit_without_meaning_keeps_the_generation(body: str) -> None:
    """A comment is no reason to build a table again."""
    assert generation(body) == generation(BASE)


@pytest.mark.parametrize(
    "body",
    [
        BASE.replace("town", "city"),
        BASE.replace("lastName", "firstName"),
        BASE.replace("email", "fax"),
        BASE + ", where: active",
        BASE + ", each: {x: xs}",
        BASE + ", shards: 2",
        BASE + ", hot: {Redmond: 4}",
        BASE + ", expire: {path: t, after: 1d}",
        BASE + ", expire: {path: t, after: 1d, tables: day}",
        BASE + ", placement: {by: hash, accounts: [A]}",
        BASE.replace("partition: town", "partition: {path: town, fold: case}"),
        BASE.replace("partition: town", "partition: {path: town, nulls: index}"),
        BASE.replace("partition: town", "partition: {path: town, type: integer}"),
        BASE.replace("partition: town", "partition: {path: town, name: city}"),
    ],
)
def test_every_physical_change_is_a_new_generation(body: str) -> None:
    """What changes rows, or where they are, needs another table."""
    assert generation(body) != generation(BASE)


def test_what_counts_as_deleted_is_part_of_the_generation() -> None:
    """Facts that were left out before would be missing for ever."""
    assert generation(BASE, ", deletes: {when: gone}") != generation(BASE)


def test_generation_ids_are_the_same_in_every_process() -> None:
    """Workers on other machines must agree."""
    code = (
        "from shared.definitions.identity import generation_id\nfrom shared.definitions.loading.load import load\n"
        f"d = load({HEAD % ''!r} + {f'  i: {{{BASE}}}'!r}).require()\n"
        "print(generation_id(d.indexes['i'], d.sources['customers']))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == generation(BASE) == "80adaec1aae4246c"


def test_an_index_without_periods_keeps_the_generation_that_it_had_before_there_were_any() -> None:
    """A key that is not used is no reason to build a table again."""
    assert generation(BASE + ", expire: {path: t, after: 1d}") == "f23332f7fb38291a"


def index_named(name: str, expire: Expire | None = None) -> Index:
    """An index of that name."""
    return Index(name, "s", (KeyPart("p", "p"),), expire=expire)


@given(st.from_regex(r"\A[A-Za-z][A-Za-z0-9_-]{0,62}\Z"), st.from_regex(r"\A[0-9a-f]{16}\Z"), st.integers(1, 99))
def test_table_names_are_what_the_service_takes(name: str, generation: str, attempt: int) -> None:
    """Letters and digits, 3 to 63, a letter first; with the whole generation id, which keeps them apart."""
    table = table_name(index_named(name), generation, attempt)
    dated = table_name(index_named(name, Expire("t", 86_400, "day")), generation, attempt)
    assert len(table_of(dated, "20270115")) <= 63
    assert (is_of_period(table), is_of_period(dated), is_of_period(table_of(dated, "20270115"))) == (False, False, True)
    assert without_period(table_of(dated, "20270115")) == without_period(f"{dated}p") == dated
    assert without_period(table) == table
    assert re.fullmatch(r"[a-z][a-z0-9]{2,62}", table)
    assert generation in table


def test_a_generation_that_comes_back_gets_another_table() -> None:
    """Names are never reused: Azure frees the name of a deleted table late."""
    names = {table_name(index_named("by-town"), "0123456789abcdef", attempt) for attempt in (1, 2, 12)}
    assert len(names) == 3


def test_names_that_differ_only_in_punctuation_have_their_own_tables() -> None:
    """`by-town` and `bytown` look alike without the id."""
    made = definitions(f"  by-town: {{{BASE}}}\n  bytown: {{{BASE}}}")
    source = made.sources["customers"]
    assert len({table_name(i, generation_id(i, source)) for i in made.indexes.values()}) == 2


def test_a_plan_says_what_happens_to_each_index_and_why() -> None:
    """New, removed, built anew because of these keys, or left alone."""
    before = definitions(f"  same: {{{BASE}}}\n  gone: {{{BASE}}}\n  other: {{{BASE}}}")
    after = definitions(f"  same: {{{BASE}}}\n  fresh: {{{BASE}}}\n  other: {{{BASE}, shards: 4, where: vip}}")
    steps = {step.name: (step.effect, step.because) for step in compare(before, after)}
    assert steps == {
        "fresh": ("new index", ()),
        "gone": ("removed", ()),
        "other": ("new generation", ("where", "shards")),
        "same": ("no change", ()),
    }


def test_a_source_must_not_change_who_its_facts_are() -> None:
    """The ledger would mistake one fact for another: that takes a new source name."""
    after = definitions("  {}").sources["customers"]
    changed = load((HEAD % "").replace("customerId", "region") + "  {}").require()
    steps = compare(definitions("  {}"), changed)
    assert after.partition_key == ("customerId",)
    assert steps == (MigrationStep("customers", "not allowed", ("partitionKey",)),)


# ---------------------------------------------------------------------------------------------------- events

MAPPING = "events: {when: w, id: a.i, document: a}"


def of_hub(source: str) -> Definitions:
    """One index on a source with a hub."""
    text = f"version: 1\nsources: {{s: {{eventHub: h, {source}}}}}\nindexes: {{i: {{source: s, partition: town}}}}"
    return load(text).require()


def id_of_hub(source: str) -> str:
    """Its generation id."""
    made = of_hub(source)
    return generation_id(made.indexes["i"], made.sources["s"])


@pytest.mark.parametrize("spelled", ["events: envelope", "events: {form: envelope}", "events: null"])
def test_the_envelope_is_what_it_was_before_there_were_forms(spelled: str) -> None:
    """No index is built anew, and an earlier deployment can read the catalog."""
    assert id_of_hub(spelled) == id_of_hub("id: id")
    assert "events" not in of_hub(spelled).sources["s"].plain()


@pytest.mark.parametrize(
    "changed", ["events: document", "events: debezium", MAPPING, "events: {form: envelope, when: w}"]
)
def test_another_form_is_another_generation(changed: str) -> None:
    """Which facts there are, and what they look like, follows from it."""
    assert id_of_hub(changed) != id_of_hub("id: id")
    assert id_of_hub(changed) == id_of_hub(changed)


@pytest.mark.parametrize(
    ("before", "after", "effects"),
    [
        (MAPPING, MAPPING.replace("w,", "v,"), [("i", "new generation", ("events",))]),
        (MAPPING, MAPPING.replace("a.i", "a.j"), [("s", "not allowed", ("id",)), ("i", "new generation", ("events",))]),
        ("id: id", "events: debezium", [("s", "not allowed", ("version",)), ("i", "new generation", ("events",))]),
        ("version: v", "version: v, events: debezium", [("i", "new generation", ("events",))]),
    ],
)
def test_a_plan_says_what_changed_events_do(
    before: str, after: str, effects: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    """What identifies a fact and orders its versions must not change, wherever it is said."""
    steps = compare(of_hub(before), of_hub(after))
    assert [(step.name, step.effect, step.because) for step in steps] == effects


def test_a_source_comes_back_from_its_plain_form() -> None:
    """As the catalog and the compiled definitions keep it."""
    source = of_hub(f"{MAPPING}, deletes: {{when: gone}}").sources["s"]
    assert source_from_plain(json.loads(json.dumps(source.plain()))) == source
