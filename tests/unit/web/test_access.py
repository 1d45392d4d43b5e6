"""What a caller may do, by the claims that App Service Authentication hands over."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest

from shared.definitions.access import Access, IndexAccess
from shared.errors import ForbiddenError, NotSignedInError
from shared.web.access import Rights, signed_in
from shared.web.principal import HEADER, read_principal

if TYPE_CHECKING:
    from collections.abc import Sequence

ACCESS = Access(
    indexes={"orders": IndexAccess(("Orders.Read",), (("tenant", "tid"),)), "open": IndexAccess(("Index.Read",))}
)


def headers(claims: Sequence[tuple[str, str]], role_type: str = "roles") -> dict[str, str]:
    """The header for a caller with these claims."""
    content = {"auth_typ": "aad", "claims": [{"typ": name, "val": value} for name, value in claims]}
    text = json.dumps({**content, "name_typ": "name", "role_typ": role_type})
    return {"X-MS-CLIENT-PRINCIPAL": base64.b64encode(text.encode()).decode()}


def caller(*roles: str, **claims: str) -> Rights:
    """A caller with these roles and claims."""
    return signed_in(ACCESS, headers([*(("roles", role) for role in roles), *claims.items()]), ())


def test_a_caller_with_the_role_of_an_index_may_read_it() -> None:
    """And no other index."""
    rights = caller("Orders.Read")
    rights.require_reader("orders")
    assert rights.readable(["orders", "open", "other"]) == ["orders"]


def test_an_index_without_rules_takes_the_readers_of_the_file() -> None:
    """By default those with Index.Read."""
    caller("Index.Read").require_reader("any")


def test_who_lacks_a_role_is_told_which() -> None:
    """The one that the index asks for."""
    with pytest.raises(ForbiddenError, match=r"needs the app role Orders\.Read"):
        caller("Index.Read").require_reader("orders")


def test_readers_are_no_operators_and_operators_are_no_readers() -> None:
    """Each needs the other role for the other calls."""
    with pytest.raises(ForbiddenError, match=r"Index\.Operate"):
        caller("Index.Read").require_operator()
    with pytest.raises(ForbiddenError):
        caller("Index.Operate").require_reader("open")
    caller("Index.Operate").require_operator()


@pytest.mark.parametrize(
    ("roles", "seen"),
    [
        (["Index.Read"], ["open"]),
        (["Orders.Read"], []),
        (["Index.Operate"], ["orders", "open"]),
        (["Orders.Read", "Index.Operate"], ["orders", "open"]),
    ],
)
def test_numbers_of_a_whole_index_are_for_who_may_see_all_of_it(roles: list[str], seen: list[str]) -> None:
    """A caller whose part is bound may know of their own entries; an operator runs them all."""
    rights = caller(*roles, tid="contoso")
    assert [name for name in ("orders", "open") if rights.may_see_all(name)] == seen


@pytest.mark.parametrize("role", ["Index.Read", "Orders.Read", "Index.Operate"])
def test_every_role_of_the_file_sees_what_all_may_see(role: str) -> None:
    """Such as the status."""
    caller(role).require_any()


def test_a_role_that_the_file_does_not_name_sees_nothing() -> None:
    """Nor does a caller without roles."""
    for rights in (caller("Other.Role"), caller()):
        with pytest.raises(ForbiddenError):
            rights.require_any()


def test_a_bound_part_is_filled_in() -> None:
    """With the claim of the caller."""
    assert caller("Orders.Read", tid="contoso").bound("orders", {"day": "1"}) == {"day": "1", "tenant": "contoso"}


def test_a_bound_part_with_the_callers_own_value_is_fine() -> None:
    """It says what is so."""
    assert caller("Orders.Read", tid="contoso").bound("orders", {"tenant": "contoso"}) == {"tenant": "contoso"}


@pytest.mark.parametrize(
    "parameters",
    [
        {"tenant": "fabrikam"},
        {"tenant": "CONTOSO"},
        {"tenant.in": '["contoso"]'},
        {"tenant.prefix": ""},
        {"tenant.ge": "a"},
        {"tenant": "contoso", "tenant.null": "true"},
    ],
)
def test_a_bound_part_cannot_be_asked_for_in_any_other_way(parameters: dict[str, str]) -> None:
    """Whatever the operator."""
    with pytest.raises(ForbiddenError, match='The part "tenant" is bound to your claim "tid"'):
        caller("Orders.Read", tid="contoso").bound("orders", parameters)


@pytest.mark.parametrize("claims", [{}, {"tid": ""}])
def test_a_caller_without_the_bound_claim_is_refused(claims: dict[str, str]) -> None:
    """An empty one is none."""
    with pytest.raises(ForbiddenError, match="which your token does not have"):
        caller("Orders.Read", **claims).bound("orders", {"tenant": ""})


def test_of_several_values_of_a_claim_one_must_be_named() -> None:
    """Such as groups."""
    rights = signed_in(ACCESS, headers([("roles", "Orders.Read"), ("tid", "a"), ("tid", "b")]), ())
    assert rights.bound("orders", {"tenant": "b"}) == {"tenant": "b"}
    with pytest.raises(ForbiddenError, match="which has several values"):
        rights.bound("orders", {})


def test_claims_with_the_names_of_older_tokens_are_known_by_the_short_ones() -> None:
    """App Service hands some over so."""
    given = [
        ("http://schemas.microsoft.com/identity/claims/tenantid", "contoso"),
        ("http://schemas.microsoft.com/ws/2008/06/identity/claims/role", "Orders.Read"),
    ]
    rights = signed_in(ACCESS, headers(given, given[1][0]), ())
    rights.require_reader("orders")
    assert rights.bound("orders", {}) == {"tenant": "contoso"}


def test_tokens_of_other_tenants_are_refused_where_tenants_are_named() -> None:
    """As if there were none."""
    given = headers([("roles", "Index.Read"), ("tid", "fabrikam")])
    with pytest.raises(NotSignedInError, match="tenant"):
        signed_in(ACCESS, given, ["contoso"])
    assert signed_in(ACCESS, given, ["fabrikam", "contoso"]).may_read("open")


@pytest.mark.parametrize(
    "text", ["", "not base64!", base64.b64encode(b"[]").decode(), base64.b64encode(b'{"claims": [1]}').decode()]
)
def test_a_header_that_cannot_be_read_describes_no_caller(text: str) -> None:
    """So that the call is one without a caller."""
    assert read_principal({HEADER: text}) is None
    with pytest.raises(NotSignedInError, match="Authorization: Bearer"):
        signed_in(ACCESS, {HEADER: text}, ())


def test_a_definition_is_suggested_where_no_index_has_rules_of_its_own() -> None:
    """It would have none itself, and say what fields the indexes of others have."""
    assert not caller("Index.Read").may_ask({"definition": "indexes: {}"})
    assert signed_in(Access(), headers([("roles", "Index.Read")]), ()).may_ask({"definition": "indexes: {}"})
    assert Rights(ACCESS, None).may_ask({"definition": "indexes: {}"})


def test_with_keys_the_host_has_decided_already() -> None:
    """Whatever the file says about roles."""
    rights = Rights(ACCESS, None)
    rights.require_operator()
    assert rights.readable(["orders"]) == ["orders"]
    assert rights.bound("orders", {"tenant": "any"}) == {"tenant": "any"}
