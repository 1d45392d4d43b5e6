"""Documents and expressions that would take long: counted in steps, and ended by a dead letter."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.definitions.loading.load import load
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.changes.event_changes import EventReader
from shared.entries.changes.paths import EvaluationError, compile_condition, compile_path
from shared.entries.changes.step_budget import STEPS_MAX, StepBudget
from shared.entries.projection.key_values import ELEMENTS_MAX, KeyValueReader, TooManyEntriesError
from shared.entries.projection.projector import Projector
from shared.entries.projection.summary_projector import SummaryProjector
from shared.errors import UnprojectableError, UnreadableChangeError

DOCUMENT_BYTES = 2_000_000
NUMBERS = {"n": [0] * 900_000}
OBJECTS = {"o": [{"q": 1}] * 200_000}
TEXTS = {"t": "x" * 1_900_000}
INTEGERS = {"i": [10**4299] * 460}
LISTS = {"l": [[[0] * 8] * 8] * 8_000}
MANY_TEXTS = {"t": ["x" * 1_000] * 1_900}
DOUBLED = " | ".join(["[@, @]"] * 40)
FLATTENED = " | ".join(["[@, @][]"] * 40)


class Counted(dict[str, Any]):
    """A document that counts how often its fields are read."""

    reads = 0

    def get(self, *args: Any) -> Any:
        """The field, counted."""
        Counted.reads += 1
        return super().get(*args)


class Copied(dict[str, Any]):
    """A document that counts how often all of its fields are copied."""

    copies = 0

    def keys(self) -> Any:
        """All names, counted."""
        Copied.copies += 1
        return super().keys()

    def __iter__(self) -> Any:
        """Without this, a copy does not ask for the names."""
        return super().__iter__()


@pytest.fixture(autouse=True)
def _nothing_read() -> None:
    Counted.reads = Copied.copies = 0


def index_of(body: str, source: str = "cosmos: {database: d, container: c}, partitionKey: pk") -> Any:
    """An index with this body, and its source."""
    text = f"version: 1\nsources: {{s: {{{source}}}}}\nindexes: {{by-item: {{source: s, {body}}}}}"
    definitions = load(text).require()
    return definitions.indexes["by-item"], definitions.sources["s"]


def project(body: str, document: dict[str, Any]) -> int:
    """How many entries a document has."""
    index, source = index_of(body)
    change = CosmosReader(source).latest({"id": "1", "pk": "p", "_ts": 1, "_lsn": 1, **document})
    return len((SummaryProjector(index) if index.summarize else Projector(index, source)).project(change))


HOSTILE = [
    ("n[*]", NUMBERS),
    ("sum(n)", NUMBERS),
    ("sort(n)", NUMBERS),
    ("reverse(n)", NUMBERS),
    ("n[:]", NUMBERS),
    ("n == [n][0]", NUMBERS),
    ("contains(n, `[]`)", NUMBERS),
    ("to_string(n)", NUMBERS),
    ("map(&abs(@), n)", NUMBERS),
    (f"[{', '.join(['to_string(i)'] * 20)}]", INTEGERS),
    ("o[?q > `0`].q | sum(@)", OBJECTS),
    ("sort_by(o, &to_number(to_string(q)))", OBJECTS),
    ("max_by(o, &length(to_string(@)))", OBJECTS),
    ("min_by(o, &sum([q, q, q]))", OBJECTS),
    ("o[].[q, q, q][][]", OBJECTS),
    ("o[*].{a: q, b: {c: q}}", OBJECTS),
    ("l[][][]", LISTS),
    ("l[*][*][*]", LISTS),
    ("l[*].map(&map(&to_string(@), @), @)", LISTS),
    (f"{DOUBLED} | to_string(@)", {}),
    (f"[{DOUBLED}, {DOUBLED}] | [0] == [1]", {}),
    (f"[{DOUBLED}] | contains(@, [0])", {}),
    (FLATTENED, {}),
    (f"t | {' | '.join(['join(`` ``, [@, @])'.replace('`` ``', chr(39) * 2)] * 40)}", TEXTS),
    (f"[t] | {' | '.join(['[@, @][]'] * 12)} | sort(@) | length(@)", TEXTS),
    (f"[@] | {' | '.join(['[@, @][]'] * 12)} | max_by(@, &t) | t", TEXTS),
    (f"[@] | {' | '.join(['[@, @][]'] * 12)} | [?t == t] | length(@)", TEXTS),
    (f"t | {' | '.join(['[@, @][]'] * 8)} | join(', ', @) | length(@)", MANY_TEXTS),
]


@pytest.mark.parametrize(("text", "document"), HOSTILE, ids=[text[:40] for text, _ in HOSTILE])
def test_a_costly_expression_ends_when_its_steps_do(text: str, document: dict[str, Any]) -> None:
    """As a value and as a condition, with a reason that names it. Documents are as large as a source can hold."""
    assert len(json.dumps(document, separators=(",", ":"))) <= 1.1 * DOCUMENT_BYTES
    for get in (compile_path(text), compile_condition(text)):
        with pytest.raises(EvaluationError, match="is too costly, over 500000 steps: simplify it") as raised:
            get(document)
        assert len(str(raised.value)) < 150
        assert str(raised.value).startswith(f'"{text[:57]}')


@pytest.mark.parametrize(
    ("text", "steps"),
    [("o[0].q", 5), ("length(o)", 4), ("sum(o[].q)", 300_006), ("o[?q > `0`] | [0]", 400_006), ("o", 0)],
)
def test_what_a_step_is(text: str, steps: int) -> None:
    """A visited node, or an element that is gone through. A dotted path takes none."""
    document = {"o": [{"q": 1}] * 100_000}
    budget = StepBudget()
    compile_path(text, budget)(document)
    assert STEPS_MAX - budget.left == steps


def test_a_budget_is_for_one_fact() -> None:
    """The next has a whole one."""
    reader = KeyValueReader(index_of("partition: {path: sum(n), name: total, type: integer}")[0])
    for _ in range(3):
        assert len(reader.keys({"n": [1] * 300_000})) == 1


def test_the_expressions_of_an_index_share_a_budget() -> None:
    """Each of them alone would be within it."""
    parts = ", ".join(f"{{path: sum(n), name: total{number}}}" for number in range(2))
    with pytest.raises(UnprojectableError, match=r'^"sum\(n\)" is too costly'):
        project(f"partition: [{parts}]", {"n": [1] * 300_000})


@pytest.mark.parametrize("key", ["where", "expire", "each"])
def test_every_expression_of_an_index_is_counted(key: str) -> None:
    """Not only those of the key."""
    costly = {
        "where": "partition: town, where: sum(n)",
        "expire": "partition: town, expire: {path: sum(n), after: 1d}",
        "each": "partition: x, each: {x: 'n[*]'}",
    }[key]
    with pytest.raises(UnprojectableError, match="is too costly") as raised:
        project(costly, {"town": "Kent", **NUMBERS})
    assert raised.value.kind == "notEvaluable"


@pytest.mark.parametrize("key", ["id", "version", "partitionKey", "deletes"])
def test_every_expression_of_a_source_is_counted(key: str) -> None:
    """Such a change cannot be read."""
    costly = {
        "id": "id: to_string(sum(n))",
        "version": "version: sum(n)",
        "partitionKey": "partitionKey: sum(n)",
        "deletes": "deletes: {when: sum(n)}",
    }[key]
    _, source = index_of("partition: town", f"eventHub: h, {costly}")
    body = json.dumps({"op": "upsert", "document": {"id": "1", "town": "Kent", **NUMBERS}})
    with pytest.raises(UnreadableChangeError, match=r"is too costly, over 500000 steps"):
        EventReader(source).read(body.encode(), datetime(2026, 1, 1, tzinfo=UTC), 1)


def test_an_expression_of_the_fact_is_evaluated_once_for_all_elements() -> None:
    """Where, sort and expiry."""
    body = (
        "each: {item: items}, partition: item.sku, sort: {path: 'sum(items[].qty)', name: total, type: integer}, "
        "where: length(items), expire: {path: 'items[0].at', after: 1d}, project: keys"
    )
    index, _ = index_of(body)
    items = [{"sku": f"s{number}", "qty": number, "at": "2026-01-01T00:00:00Z"} for number in range(1000)]
    keys = KeyValueReader(index).keys(Counted(items=items))
    assert len(keys) == 1000
    assert {key.values["total"] for key in keys} == {499_500}
    assert Counted.reads == 4  # of each, where, sort and expire


def test_a_measure_of_the_fact_is_evaluated_once_for_all_elements() -> None:
    """And not at all while no element has an entry."""
    body = "each: {item: items}, partition: item.sku, where: item.sku, summarize: {most: {max: 'sum(items[].qty)'}}"
    items = [{"sku": f"s{number}", "qty": 1} for number in range(1000)]
    assert project(body, {"items": items}) == 1000
    assert project(body, {"items": [{"qty": "no number"}]}) == 0


def test_6000_elements_with_a_sum_over_the_fact_are_a_dead_letter_soon() -> None:
    """Quadratic work, as it was once: 37 seconds for 60 KB."""
    body = "each: {item: items}, partition: item.sku, sort: {path: 'sum(items[].qty)', name: total}"
    items = [{"sku": f"s{number}", "qty": number} for number in range(6000)]
    with pytest.raises(UnprojectableError, match="Its 6000 elements give entries over the limit of 1000"):
        project(body, {"items": items})
    index, _ = index_of(body)
    with pytest.raises(TooManyEntriesError):
        KeyValueReader(index).keys({"items": [Counted(item) for item in items]})
    assert Counted.reads == 6000 + 1001  # the sum, and the elements up to the one that is too many


def test_work_that_grows_with_the_square_of_the_elements_ends() -> None:
    """An expression with the element and the whole array in it has to be evaluated for each."""
    body = "each: {item: items}, partition: {path: 'max([item.qty, sum(items[].qty)])', name: most}"
    assert project(body, {"items": [{"qty": number} for number in range(300)]}) == 1
    with pytest.raises(UnprojectableError, match="is too costly"):
        project(body, {"items": [{"qty": number} for number in range(6000)]})


def test_elements_are_counted_before_any_is_evaluated() -> None:
    """Most of them may have no entry, but not any number."""
    index, _ = index_of("each: {item: items}, partition: item.sku, where: item.open")
    reader = KeyValueReader(index)
    assert reader.keys({"items": [{"open": False}] * ELEMENTS_MAX}) == []
    with pytest.raises(TooManyEntriesError, match="it has 20001 elements, over the limit of 20000"):
        reader.keys({"items": [Counted(open=False)] * (ELEMENTS_MAX + 1)})
    assert Counted.reads == 0


@pytest.mark.parametrize(
    "body",
    [
        "partition: {path: item.n, type: integer}, project: [item, pk]",
        "partition: {path: to_string(item), name: text}, project: keys",
        "partition: pk, summarize: {total: {sum: abs(item.n)}}",
    ],
)
def test_a_fact_of_many_fields_is_not_copied_for_every_element(body: str) -> None:
    """A fact of 150 000 fields and 20 000 elements took 9 s."""
    index, source = index_of(f"each: {{item: items}}, {body}")
    items = [{"n": number} for number in range(1000)]
    change = CosmosReader(source).latest({"id": "1", "pk": "p", "_ts": 1, "_lsn": 1, "items": items})
    assert change.document is not None
    change = replace(change, document=Copied(change.document))
    assert (SummaryProjector(index) if index.summarize else Projector(index, source)).project(change)
    assert Copied.copies <= 3


def test_a_fact_that_is_left_out_may_have_any_number_of_elements() -> None:
    """`where` says so of the fact, without its elements."""
    assert project("each: {x: n}, partition: x, where: active", {"active": False, **NUMBERS}) == 0


def test_long_keys_of_many_elements_are_counted() -> None:
    """They are cut and hashed for every element."""
    body = "each: {tag: tags}, partition: tag, sort: title, project: keys"
    assert project(body, {"tags": ["a", "b"], "title": "x" * 400_000}) == 2
    with pytest.raises(UnprojectableError, match='"title" is too costly'):
        project(body, {"tags": [str(number) for number in range(1000)], "title": "x" * 400_000})


@pytest.mark.parametrize("part_type", ["string", "number", "datetime"])
def test_parts_of_many_elements_are_counted(part_type: str) -> None:
    """Each is coerced and spelled for every element: 20 000 elements with 20 times took 3 s."""
    value = {"string": "é/#?'", "number": 1.2345e-20, "datetime": "2026-01-01T00:00:00+02:00"}[part_type]

    def body(parts: int) -> str:
        names = ", ".join(f"{{path: item.a, name: p{number}, type: {part_type}}}" for number in range(parts))
        return f"each: {{item: items}}, partition: pk, sort: [{names}], project: keys"

    assert project(body(4), {"items": [{"a": value}] * ELEMENTS_MAX}) == 1
    with pytest.raises(UnprojectableError, match=r'"item\.a" is too costly'):
        project(body(20), {"items": [{"a": value}] * ELEMENTS_MAX})


def test_elements_that_an_expression_makes_large_are_counted() -> None:
    """What is projected of them would be written."""
    with pytest.raises(UnprojectableError, match="is too costly"):
        project(f"each: {{x: 'a[].[{DOUBLED}]'}}, partition: town, project: [x]", {"town": "Kent", "a": [1]})


def test_a_reason_does_not_spell_out_a_large_value() -> None:
    """What an expression has made can be larger than any document."""
    with pytest.raises(EvaluationError, match="invalid type for value: a list of 2") as raised:
        compile_path(f"{DOUBLED} | abs(@)")({})
    assert len(str(raised.value)) < 150


TAGS = [str(number) for number in range(1000)]
# Each is projected with the element, so that nothing but the limit ends the work.
LARGE = {
    "text": "x" * 400_000,
    "text beyond ASCII": "\u20ac" * 130_000,
    "lists": [[1]] * 100_000,
    "nulls": [1, 1, 1, None] * 40_000,
    "large integers": [10**25] * 14_000,
    "fields": {f"c{number}": number for number in range(30_000)},
}


@pytest.mark.parametrize("value", LARGE.values(), ids=LARGE)
def test_entries_that_repeat_a_large_part_of_the_fact_end_at_32_mib(value: Any) -> None:
    """So that 1 000 entries of 400 KB each are not made: the last of them that is made has what is left."""
    with pytest.raises(UnprojectableError, match=r"Its 1000 entries are over 32 MiB together") as raised:
        project("each: {tag: tags}, partition: tag, project: [tag, a]", {"tags": TAGS, "a": value})
    assert raised.value.kind == "tooLarge"


def test_what_is_over_1_mib_without_the_element_is_made_once() -> None:
    """Its entries refer to the fact, whatever the element adds: nothing is written out 1 000 times."""
    index, source = index_of("each: {tag: tags}, partition: tag, project: [tag, a]")
    change = CosmosReader(source).latest({"id": "1", "pk": "p", "_ts": 1, "_lsn": 1, "tags": TAGS, "a": "x" * 600_000})
    entries = Projector(index, source).project(change)
    assert len(entries) == 1000
    assert all(entry.is_reference for entry in entries)


def test_entries_of_the_fact_alone_end_at_128_mib() -> None:
    """Their columns are made once, and so cost less."""
    body = "each: {tag: tags}, partition: tag, project: [a]"
    assert project(body, {"tags": TAGS, "a": "x" * 128_000}) == 1000
    with pytest.raises(UnprojectableError, match=r"Its 1000 entries are over 128 MiB together"):
        project(body, {"tags": TAGS, "a": "x" * 140_000})


def test_entries_within_32_mib_are_made() -> None:
    """A thousand of 32 KB, and one of almost 1 MiB."""
    assert project("each: {tag: tags}, partition: tag, project: [tag, a]", {"tags": TAGS, "a": "x" * 32_000}) == 1000
    assert project("each: {tag: tags}, partition: tag, project: [tag, a]", {"tags": ["1"], "a": "x" * 500_000}) == 1
