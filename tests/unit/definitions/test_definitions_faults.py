"""Faults in `indexes.yaml`: all at once, each with its line, its key, what is wrong and how to fix it."""

from __future__ import annotations

from textwrap import dedent

import pytest

from shared.definitions.loading.load import load
from shared.errors import DefinitionsError
from shared.sources.trigger_leases import LEASE_CONTAINER

SOURCES = """
version: 1
sources:
  customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}
  orders: {eventHub: orders}
indexes:
"""


def findings(text: str) -> list[str]:
    """The faults of a whole file, as text."""
    return [str(fault) for fault in load(text).faults]


def index_fault(body: str) -> str:
    """The one fault of an index `i` on customers with this body."""
    (fault,) = findings(f"{SOURCES}  i: {{source: customers, {body}}}")
    return fault


def source_fault(body: str) -> str:
    """The one fault of a source `s` with this body."""
    (fault,) = findings(f"version: 1\nsources:\n  s: {{{body}}}\nindexes: {{}}\n")
    return fault


COSMOS = "cosmos: {database: d, container: c}, partitionKey: k"


@pytest.mark.parametrize(
    ("body", "key", "what"),
    [
        ("partitionKey: k", "sources.s", 'neither "cosmos" nor "eventHub"'),
        ("cosmos: {database: d}, partitionKey: k", "sources.s.cosmos.container", "the key is missing"),
        (f"{COSMOS}, eventHub: h", "sources.s", 'has no "version"'),
        (
            f"{COSMOS}, version: v, deletes: {{feed: allVersions}}",
            "sources.s.deletes.feed",
            'declared "version"',
        ),
        (
            "eventHub: h, deletes: {feed: allVersions}",
            "sources.s.deletes.feed",
            'only a source with "cosmos"',
        ),
        (f"{COSMOS}, deletes: {{}}", "sources.s.deletes", 'one of "when" and "feed"'),
        (
            f"{COSMOS}, deletes: {{when: x, feed: allVersions}}",
            "sources.s.deletes",
            'one of "when" and "feed"',
        ),
        (f"{COSMOS}, deletes: {{when: 'x &&'}}", "sources.s.deletes.when", "is not an expression"),
        (
            "cosmos: {database: d, container: c}, partitionKey: /customer/id",
            "sources.s.partitionKey",
            'Paths have dots and no slashes: "customer.id".',
        ),
        (f"{COSMOS}, id: number", "sources.s.id", 'always "id"'),
        (
            "cosmos: {database: d, container: c}, partitionKey: 'a[0]'",
            "sources.s.partitionKey",
            "is not an expression",
        ),
        (
            "cosmos: {database: d, container: c}, partitionKey: [a, b, c, d]",
            "sources.s.partitionKey",
            "three levels",
        ),
        ("eventHub: h, version: 'v('", "sources.s.version", "is not an expression"),
        ("eventHub: 7", "sources.s.eventHub", "text is wanted"),
        ("eventHub: 'a b/c'", "sources.s.eventHub", '"a b/c" is not a name of an event hub'),
        ("eventHub: -orders-", "sources.s.eventHub", "a letter or digit at both ends"),
        (f"eventHub: {'h' * 257}", "sources.s.eventHub", "at most 256"),
        ("cosmos: {database: a/b, container: c}", "sources.s.cosmos.database", "is not a name of a Cosmos DB database"),
        ("cosmos: {database: d, container: 'c '}", "sources.s.cosmos.container", "no space at the end"),
        (
            f"cosmos: {{database: d, container: {LEASE_CONTAINER}}}",
            "sources.s.cosmos.container",
            "is the container of the leases",
        ),
        (f"cosmos: {{database: {'d' * 256}, container: c}}", "sources.s.cosmos.database", "at most 255 characters"),
        (f"{COSMOS}, eventhub: h", "sources.s.eventhub", 'Did you mean "eventHub"?'),
    ],
)
def test_a_fault_in_a_source_is_named(body: str, key: str, what: str) -> None:
    """One fault, at its key, with its line."""
    fault = source_fault(body)
    assert fault.startswith(f"indexes.yaml:3: {key}: ")
    assert what in fault


@pytest.mark.parametrize(
    ("body", "key", "what"),
    [
        ("sort: a", "partition", "the key is missing"),
        ("partition: []", "partition", "has no part"),
        ("partition: [], hot: {a: 2}", "partition", "has no part"),
        ("partition: 5", "partition", "a mapping is wanted, this is a number"),
        ("partition: ''", "partition", "it is empty"),
        ("partition: 'a-b'", "partition", "is not an expression"),
        ("partition: 'length('", "partition", "is not an expression"),
        ("partition: {path: 'lenth(a)', name: a}", "partition.path", "there is no function lenth()"),
        ("partition: 'a[0]'", "partition", "Give it a name"),
        ("partition: '\"Major Genre\"'", "partition", "Give it a name"),
        ("partition: select", "partition", "is a parameter of every lookup"),
        ("partition: {path: a, name: maxpagesize}", "partition", "is a parameter of every lookup"),
        ("partition: {path: a, name: 1st}", "partition", "is not a name for a part"),
        ("partition: a, sort: b.a", "sort", 'two parts are called "a"'),
        ("partition: {path: a, typ: integer}", "partition.typ", 'Did you mean "type"?'),
        ("partition: {path: a, type: int}", "partition.type", 'Did you mean "integer"?'),
        ("partition: {path: a, order: down}", "partition.order", "Known are: asc, desc."),
        ("partition: {path: a, type: number, fold: case}", "partition.fold", "type number has no case"),
        ("partition: a, sort: [b, {pat: c}]", "sort[1].path", None),
        ("partition: a, project: some", "project", "a list of paths"),
        ("partition: a, project: []", "project", "it is empty"),
        ("partition: a, project: ['b[0]']", "project[0]", "is not a dotted path"),
        ("partition: a, project: [b, c, b]", "project[2]", "is listed twice"),
        ("partition: a, where: '!!'", "where", "is not an expression"),
        ("partition: a, each: {}", "each", "0 arrays are named"),
        ("partition: a, each: {a: b, c: d}", "each", "2 arrays are named"),
        ("partition: a, each: {a-b: c}", "each.a-b", "is not a name for an element"),
        ("partition: a, each: {e: 'c['}", "each.e", "is not an expression"),
        ("partition: a, shards: 0", "shards", "out of range"),
        ("partition: a, shards: 257", "shards", "out of range"),
        ("partition: a, shards: many", "shards", "a whole number is wanted, this is text"),
        ("partition: a, hot: {x: 0}", "hot.x", "out of range"),
        ("partition: a, hot: {x: true}", "hot.x", "a whole number is wanted"),
        ("partition: [a, b], hot: {x: 2}", "hot", "the partition has several"),
        ("partition: {path: a, type: integer}, hot: {x: 2}", "hot.x", "not of type integer"),
        ("partition: {path: a, fold: case}, hot: {x: 2, X: 3}", "hot", "is listed twice"),
        ("partition: a, expire: {path: t, after: 3y}", "expire.after", "is not a duration"),
        ("partition: a, expire: {path: t, after: 0d}", "expire.after", "is not a duration"),
        ("partition: a, expire: {path: 't(', after: 1d}", "expire.path", "is not an expression"),
        ("partition: a, expire: {after: 1d}", "expire.path", "the key is missing"),
        ("partition: a, expire: {path: t, after: 90d, tables: year}", "expire.tables", "month"),
        ("partition: a, expire: {path: t, after: 90d, tables: 3}", "expire.tables", "month"),
        ("partition: a, expire: {tables: day, after: 1d}", "expire.path", "the key is missing"),
        ("partition: a, expire: {path: t, tables: day}", "expire.after", "the key is missing"),
        ("partition: a, expire: {path: t, after: 31d, tables: day}", "expire.tables", "33 tables at once"),
        ("partition: a, expire: {path: t, after: 31w, tables: week}", "expire.tables", "Use longer periods"),
        ("partition: a, expire: {path: t, after: 841d, tables: month}", "expire.tables", "over the limit of 32"),
        (
            "partition: a, shards: 8, expire: {path: t, after: 30d, tables: day}",
            "expire.tables",
            "264 requests at once",
        ),
        ("partition: a, hot: {x: 65}, expire: {path: t, after: 4w, tables: month}", "expire.tables", "fewer shards"),
        ("partition: a, expire: {path: t, after: 23h, tables: day}", "expire.tables", "longer than they live"),
        ("partition: a, expire: {path: t, after: 6d, tables: week}", "expire.tables", "up to a week"),
        ("partition: a, expire: {path: t, after: 27d, tables: month}", "expire.tables", "use shorter periods"),
        ("partition: a, placement: {by: hash}", "placement.accounts", 'has no "accounts"'),
        ("partition: a, placement: {by: hash, accounts: [A, A]}", "placement.accounts", "is listed twice"),
        (
            "partition: a, placement: {by: hash, accounts: [A], default: B}",
            "placement.map",
            'only "accounts"',
        ),
        ("partition: a, placement: {by: list, map: {x: A}}", "placement.default", 'has no "default"'),
        (
            "partition: a, placement: {by: list, accounts: [A], default: A}",
            "placement.map",
            "a map of values",
        ),
        (
            "partition: {path: a, type: integer}, placement: {by: list, map: {x: A}, default: A}",
            "placement.map.x",
            "type",
        ),
        (
            "partition: {path: a, fold: case}, placement: {by: list, map: {x: A, X: B}, default: A}",
            "placement.map.X",
            "is listed twice",
        ),
        (
            f"partition: a, placement: {{by: list, map: {{{'x' * 101}: A}}, default: A}}",
            f"placement.map.{'x' * 101}",
            "too long to be placed by",
        ),
        (
            "partition: a, placement: {by: range, map: [{to: X, account: A}, {from: X, account: B}]}".replace(
                "X", "x" * 101
            ),
            "placement.map[1].from",
            "too long to be placed by",
        ),
        ("partition: a, placement: {by: range, map: {x: A}}", "placement.map", "a list of slices"),
        (
            "partition: a, placement: {by: range, map: [{from: b, account: A}]}",
            "placement.map",
            "lowest values",
        ),
        (
            "partition: a, placement: {by: range, map: [{to: b, account: A}]}",
            "placement.map",
            "highest values",
        ),
        (
            "partition: a, placement: {by: range, map: [{to: b, account: A}, {from: c, account: B}]}",
            "placement.map[1]",
            "a gap",
        ),
        (
            "partition: a, placement: {by: range, map: [{to: c, account: A}, {from: b, account: B}]}",
            "placement.map[1]",
            "an overlap",
        ),
        (
            "partition: a, placement: {by: range, map: [{account: A}, {account: B}]}",
            "placement.map[1]",
            "overlap",
        ),
        (
            (
                "partition: a, placement: {by: range, "
                "map: [{to: c, account: A}, {from: c, to: b, account: B}, {from: b, account: C}]}"
            ),
            "placement.map[1]",
            "ends are swapped",
        ),
        ("partition: a, placement: {by: hsh, accounts: [A]}", "placement.by", 'Did you mean "hash"?'),
        ("partition: a, shard: 4", "shard", 'Did you mean "shards"?'),
    ],
)
def test_a_fault_in_an_index_is_named(body: str, key: str, what: str | None) -> None:
    """One fault, at its key, with its line; a misspelled needed key is two sides of one."""
    if what is None:
        lines = findings(f"{SOURCES}  i: {{source: customers, {body}}}")
        assert any(f"indexes.i.{key}: the key is missing" in line for line in lines)
        return
    fault = index_fault(body)
    assert fault.startswith(f"indexes.yaml:7: indexes.i.{key}: ")
    assert what in fault


@pytest.mark.parametrize(
    ("summarize", "key", "what"),
    [
        ("{}", "summarize", "it is empty"),
        ("[n]", "summarize", "a mapping is wanted"),
        ("{n: fact}", "summarize.n", 'Did you mean "facts"?'),
        ("{n: {summ: spend}}", "summarize.n.summ", 'Did you mean "sum"?'),
        ("{n: {}}", "summarize.n", "no measure is named"),
        ("{n: {sum: a, max: a}}", "summarize.n", "2 measures are named"),
        ("{n: {sum: a/b}}", "summarize.n.sum", "is not an expression"),
        ('{"a b": facts}', "summarize.a b", "is not a name for a measure"),
        ("{n: facts}, project: all", "project", 'does not go with "summarize"'),
        ("{n: facts}, expire: {path: t, after: 1d}", "expire", 'does not go with "summarize"'),
        (f"{{{', '.join(f'm{number}: facts' for number in range(21))}}}", "summarize", "21 measures are named"),
    ],
)
def test_a_fault_in_a_summary_is_named(summarize: str, key: str, what: str) -> None:
    """With its place and what to do."""
    fault = index_fault(f"partition: town, summarize: {summarize}")
    assert f"indexes.i.{key}:" in fault
    assert what in fault


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "indexes.yaml:1: the file is empty"),
        ("# only a comment\n", "indexes.yaml:1: the file is empty"),
        ("null", "indexes.yaml:1: the file is empty"),
        ("- a\n- b\n", "a mapping is wanted, this is a list"),
        ("hello", "a mapping is wanted, this is text"),
        ("a: [1,\n", "indexes.yaml:2: YAML cannot be read"),
        ("a: b: c", "indexes.yaml:1: YAML cannot be read"),
        ("a: \t- b\n\tc", "YAML cannot be read"),
        ("a:\n\tb: c", "indexes.yaml:2: YAML cannot be read: there is a tab where only spaces may be"),
        ("a: 'ä'\nb:\n  c:\n  \td: e", "indexes.yaml:4: YAML cannot be read: there is a tab where"),
        ("a: @b", "indexes.yaml:1: YAML cannot be read: found character that cannot start any token"),
        ("a: &x {b: *x}", "refers to what contains it"),
        ("? [a]\n: b\n", "line 1 has a list, mapping or alias as a key"),
        ("a: &x b\n*x : c\n", "line 2 has a list, mapping or alias as a key"),
        ("a: *x", "indexes.yaml:1: a: there is no anchor &x"),
        ("a: 1\n---\nb: 2\n", "there is a second document"),
        ("[" * 200_000, "nested too deeply"),
        ("- " * 200_000, "nested too deeply"),
        (
            "a: &a [1,1,1,1,1,1,1,1]\n"
            + "".join(f"{x}: &{x} [{','.join(['*' + y] * 9)}]\n" for x, y in ("ba", "cb", "dc", "ed", "fe", "gf")),
            "the file is too large",
        ),
        ("version: 2\nsources: {}\nindexes: {}", "indexes.yaml:1: version: 2 is not one of the choices"),
        (
            "version: '1'\nsources: {}\nindexes: {}",
            "version: a number is wanted, this is text. Write 1 without quotes.",
        ),
        ("version: true\nsources: {}\nindexes: {}", "version: true is not one of the choices. Use one of: 1."),
        (
            "version: 1\nsources: {}\nindexs: {}",
            'indexes.yaml:3: indexs: unknown key. Did you mean "indexes"?',
        ),
    ],
)
def test_a_file_that_is_no_definitions_file_says_why(text: str, what: str) -> None:
    """Broken YAML, wrong kinds, other versions: never an exception."""
    assert any(what in line for line in findings(text))


def test_a_key_that_stands_twice_is_a_fault() -> None:
    """YAML itself would keep the last and say nothing."""
    text = SOURCES + "  i: {source: customers, partition: a}\n  i: {source: customers, partition: b}\n"
    assert findings(text) == ["indexes.yaml:7: indexes.i: the key is repeated in line 8. Keep one of the two."]


def test_an_unknown_source_suggests_the_nearest() -> None:
    """And not a source that was left out for faults of its own."""
    (fault,) = findings(SOURCES + "  i: {source: custmers, partition: a}\n")
    assert 'there is no source "custmers". Did you mean "customers"?' in fault
    text = "version: 1\nsources: {s: {eventhub: h}}\nindexes: {i: {source: s, partition: a}}"
    assert len(findings(text)) == 1


def test_keys_without_a_container_is_a_fault() -> None:
    """There must be a fact to fetch."""
    (fault,) = findings(SOURCES + "  i: {source: orders, partition: a, project: keys}\n")
    assert 'needs a source with "cosmos"' in fault


def test_a_hub_that_feeds_two_sources_is_spelled_in_one_way() -> None:
    """Azure takes both spellings for one hub; the triggers would take it for two."""
    shared = "version: 1\nsources:\n  a: {eventHub: h}\n  b: {eventHub: HUB}\nindexes: {}\n"
    (fault,) = findings(shared.replace("HUB", "H"))
    assert 'sources.b.eventHub: the hub "H" is "h" in another source. Spell it in the same way.' in fault
    assert findings(shared.replace("HUB", "h")) == []


@pytest.mark.parametrize(
    ("body", "key", "what"),
    [
        ("eventHub: h, events: avro", "sources.s.events", "Known are: a mapping, debezium, document, envelope."),
        ("eventHub: h, events: debesium", "sources.s.events", 'Did you mean "debezium"?'),
        ("eventHub: h, events: [a]", "sources.s.events", "is wanted"),
        ("eventHub: h, events: {wen: a}", "sources.s.events.wen", 'Did you mean "when"?'),
        ("eventHub: h, events: {}", "sources.s.events", "the mapping is empty"),
        ("eventHub: h, events: {when: 'a ==='}", "sources.s.events.when", "is not an expression"),
        ("eventHub: h, events: {id: /a/b}", "sources.s.events.id", 'Paths have dots and no slashes: "a.b"'),
        ("eventHub: h, events: {partitionKey: ['a[']}", "sources.s.events.partitionKey", "is not an expression"),
        ("eventHub: h, events: {delete: 'a['}", "sources.s.events.delete", "is not an expression"),
        ("eventHub: h, events: {document: 'a['}", "sources.s.events.document", "is not an expression"),
        ("eventHub: h, events: {version: 'a['}", "sources.s.events.version", "is not an expression"),
        ("eventHub: h, events: {form: debezium, id: a}", "sources.s.events.id", 'does not go with "form: debezium"'),
        ("eventHub: h, id: a, events: {id: b}", "sources.s.id", '"id" is given twice, here and in "events"'),
        ("eventHub: h, version: a, events: {version: b}", "sources.s.version", "given twice"),
        ("eventHub: h, partitionKey: a, events: {partitionKey: b}", "sources.s.partitionKey", "given twice"),
        (f"{COSMOS}, events: document", "sources.s.events", '"events" needs an "eventHub"'),
        (
            f"{COSMOS}, eventHub: h, version: v, events: {{partitionKey: [a, b]}}",
            "sources.s.events.partitionKey",
            "it has 2 paths, the partition key 1",
        ),
    ],
)
def test_faults_of_events(body: str, key: str, what: str) -> None:
    """Each once, with what to do."""
    fault = source_fault(body)
    assert f": {key}" in fault
    assert what in fault


@pytest.mark.parametrize("name", ["1st", "a b", "a/b", "x" * 64, "é"])
def test_a_name_that_no_url_or_table_can_carry_is_a_fault(name: str) -> None:
    """Index and source names appear in URLs, table names and keys."""
    (fault,) = findings(f"{SOURCES}  '{name}': {{source: customers, partition: a}}\n")
    assert "is not a name" in fault


def test_all_faults_are_reported_at_once_in_the_order_of_the_file() -> None:
    """Of the shape and of the meaning, in sources and in indexes."""
    text = dedent("""\
        version: 1
        sources:
          customers: {cosmos: {database: shop, contaner: c}, partitionKey: k}
          orders: {eventHub: orders}
        indexes:
          one: {source: customers, partition: code, shards: 0}
          two: {source: order, partition: a, project: keys, where: '(('}
        """)
    places = [(fault.line, fault.key) for fault in load(text).faults]
    assert places == [
        (3, "sources.customers.cosmos.container"),
        (3, "sources.customers.cosmos.contaner"),
        (6, "indexes.one.shards"),
        (6, "indexes.one.partition"),
        (7, "indexes.two.source"),
        (7, "indexes.two.where"),
    ]


@pytest.mark.parametrize(
    ("expire", "keys"),
    [
        ("{path: t, after: 90y, tables: year}", ["after", "tables"]),
        ("{path: 't(', after: 90d, tables: year}", ["tables", "path"]),
        ("{after: 90y}", ["path", "after"]),
    ],
)
def test_all_faults_of_an_expiry_are_reported_at_once(expire: str, keys: list[str]) -> None:
    """One does not hide another."""
    text = f"{SOURCES}  i: {{source: customers, partition: a, expire: {expire}}}\n"
    assert [fault.key for fault in load(text).faults] == [f"indexes.i.expire.{key}" for key in keys]


def test_required_definitions_raise_with_all_faults() -> None:
    """The error carries each fault and reads as one text."""
    with pytest.raises(DefinitionsError) as caught:
        load("version: 1\nsources: {s: {}}\nindexes: {i: {source: t, partition: a}}").require()
    assert len(caught.value.faults) == 2
    assert "\n" in str(caught.value)


def test_a_fault_in_one_part_does_not_hide_one_in_the_next() -> None:
    """What is broken is left out as sparingly as possible."""
    body = "partition: {path: select, typ: integer}, sort: [{path: since, type: date}, first-name]"
    keys = [fault.key for fault in load(f"{SOURCES}  i: {{source: customers, {body}}}").faults]
    assert keys == [
        "indexes.i.partition.typ",
        "indexes.i.sort[0].type",
        "indexes.i.partition",
        "indexes.i.sort[1]",
    ]


def test_names_that_differ_only_in_case_are_refused() -> None:
    """Functions are named after them, and the Functions host does not tell such names apart."""
    text = """\
    version: 1
    sources:
      people: {eventHub: people}
      People: {eventHub: others}
    indexes:
      by-town: {source: people, partition: town}
      By-Town: {source: People, partition: town}
    """
    assert findings(dedent(text)) == [
        'indexes.yaml:4: sources.People: the name differs from "people" only in case. Choose another name.',
        'indexes.yaml:7: indexes.By-Town: the name differs from "by-town" only in case. Choose another name.',
    ]


@pytest.mark.parametrize("expression", [" || ".join(["a"] * 5000), " || ".join(["a"] * 300), "!" * 300 + "a"])
def test_an_expression_that_is_too_deep_is_a_fault(expression: str) -> None:
    """Not the end of the program that reads it, nor of every batch that would evaluate it."""
    assert "is not an expression: it is nested more than 100 levels deep" in index_fault(
        f"partition: town, where: '{expression}'"
    )
