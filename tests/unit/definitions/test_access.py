"""Who may call, as `indexes.yaml` says it."""

from __future__ import annotations

from shared.definitions.access import Access, IndexAccess
from shared.definitions.compiled import compile_definitions, from_compiled
from shared.definitions.identity import generation_id
from shared.definitions.loading.load import load

FILE = """
version: 1
{top}
sources: {{orders: {{eventHub: orders}}}}
indexes:
  orders-of-customer: {{source: orders, partition: [tenant, customer], sort: placedAt{access}}}
"""


def written(top: str = "", access: str = "") -> str:
    """A file with these rules."""
    return FILE.format(top=top, access=access)


def test_a_file_without_rules_asks_for_the_usual_roles() -> None:
    """Index.Read and Index.Operate."""
    assert load(written()).require().access == Access(("Index.Read",), ("Index.Operate",))


def test_an_index_has_readers_of_its_own_or_those_of_the_file() -> None:
    """And bound parts."""
    top = "access: {readers: [All.Read], operators: [Ops]}"
    access = load(written(top, ", access: {readers: [Orders.Read], bind: {tenant: tid}}")).require().access
    assert access.of("orders-of-customer") == IndexAccess(("Orders.Read",), (("tenant", "tid"),))
    assert access.of("another") == IndexAccess(("All.Read",))
    bound_only = load(written(top, ", access: {bind: {tenant: tid}}")).require().access
    assert bound_only.of("orders-of-customer").readers == ("All.Read",)


def test_rules_of_access_make_no_new_generation() -> None:
    """They decide no row."""
    plain, ruled = (load(written(access=text)).require() for text in ("", ", access: {bind: {tenant: tid}}"))
    ids = [generation_id(each.indexes["orders-of-customer"], each.sources["orders"]) for each in (plain, ruled)]
    assert ids[0] == ids[1]


def test_compiled_definitions_keep_the_rules() -> None:
    """The deployed app starts from them."""
    text = written("access: {readers: [All.Read]}", ", access: {bind: {tenant: tid}}")
    definitions = load(text).require()
    assert from_compiled(text, compile_definitions(text, definitions)) == definitions


def test_what_is_bound_must_be_a_part_of_the_key() -> None:
    """Otherwise nothing would be kept apart."""
    (fault,) = load(written(access=", access: {bind: {tenat: tid}}")).faults
    assert "indexes.orders-of-customer.access.bind.tenat" in str(fault)
    assert 'Did you mean "tenant"?' in str(fault)


def test_a_rule_that_is_empty_is_a_fault() -> None:
    """It would let every caller in, or none."""
    for access in ("{readers: []}", "{bind: {}}"):
        (fault,) = load(written(access=f", access: {access}")).faults
        assert "it is empty" in str(fault)
