"""Page tokens fit the lookup that they were made for, and no other."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import BadLookupError, BadRequestError, ContinuationExpiredError
from shared.inputs.page_tokens import PagePosition, PageTokens, next_page_parameters
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.lookup_facts import DEFINITIONS, facts, put_facts

TOKENS = PageTokens(b"key")
POSITION = PagePosition("0123456789abcdef", "Smith !Ann !c-1 !1 !")
PARAMETERS = {"town": "Redmond", "maxpagesize": "3"}


@given(
    entry_key=st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    generation=st.from_regex(r"\A[a-z0-9]+\Z"),
    partition=st.integers(0, 99),
)
def test_a_token_gives_its_position_back(entry_key: str, generation: str, partition: int) -> None:
    """Any entry key of any generation, in any of the partitions."""
    position = PagePosition(generation, entry_key, partition)
    assert TOKENS.open("by-town", PARAMETERS, TOKENS.seal("by-town", PARAMETERS, position)) == position


@given(
    st.integers(0, 60),
    st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=!. é"),
)
def test_a_token_with_one_other_character_is_refused(position: int, character: str) -> None:
    """Wherever it is, also where base64 would not care."""
    token = TOKENS.seal("by-town", PARAMETERS, POSITION)
    position %= len(token)
    changed = token[:position] + character + token[position + 1 :]
    if changed != token:
        with pytest.raises(BadRequestError):
            TOKENS.open("by-town", PARAMETERS, changed)


@pytest.mark.parametrize("token", ["", "=", "A", "AAAA", "x" * 4000, "é", "\0"])
def test_anything_else_is_refused(token: str) -> None:
    """Without any other error."""
    with pytest.raises(BadRequestError):
        TOKENS.open("by-town", PARAMETERS, token)


def test_a_token_is_bound_to_index_query_and_key() -> None:
    """The order of parameters does not matter, `sees` neither; everything else does."""
    token = TOKENS.seal("by-town", PARAMETERS, POSITION)
    assert (
        TOKENS.open("by-town", {"maxpagesize": "3", "town": "Redmond", "sees": "{}", "token": "x"}, token) == POSITION
    )
    for index, parameters, tokens in (
        ("by-name", PARAMETERS, TOKENS),
        ("by-town", {**PARAMETERS, "town": "Oslo"}, TOKENS),
        ("by-town", {"town": "Redmond"}, TOKENS),
        ("by-town", PARAMETERS, PageTokens(b"other")),
    ):
        with pytest.raises(BadRequestError):
            tokens.open(index, parameters, token)


def test_a_token_does_not_show_the_values_of_a_key() -> None:
    """A reader of a link learns nothing of the entry that its page ends with."""
    token = TOKENS.seal("by-town", PARAMETERS, POSITION)
    raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    assert not [name for name in (b"Smith", b"Ann", b"c-1", b"0123456789abcdef") if name in raw]


def test_the_same_position_has_the_same_token() -> None:
    """A page that has not changed has the same link."""
    sealed = {PageTokens(b"key").seal("by-town", PARAMETERS, POSITION) for _ in range(3)}
    assert len(sealed) == 1


def test_a_token_that_was_only_signed_is_refused() -> None:
    """As tokens were made before: a tag, then what it covers."""
    content = f"{POSITION.generation}\0{POSITION.entry_key}".encode()
    query = json.dumps(["by-town", sorted(PARAMETERS.items())]).encode()
    tag = hmac.digest(b"key", len(query).to_bytes(4, "big") + query + content, "sha256")[:16]
    with pytest.raises(BadRequestError, match="leave token out"):
        TOKENS.open("by-town", PARAMETERS, urlsafe_b64encode(tag + content).decode().rstrip("="))


def test_the_next_page_does_not_wait_again() -> None:
    """`sees` is honoured by the first page."""
    assert next_page_parameters({**PARAMETERS, "sees": "{}", "token": "old"}, "new") == {**PARAMETERS, "token": "new"}


async def test_a_token_of_another_lookup_is_a_bad_lookup() -> None:
    """Tokens serve other calls, too; an application catches what is wrong with its lookup as one error."""
    lookups = Lookups(DefinedGenerations(DEFINITIONS), Replicas(MemoryTables()), TOKENS)
    token = TOKENS.seal("customers-by-town", {"town": "Oslo"}, POSITION)
    with pytest.raises(BadLookupError) as caught:
        await lookups.find("customers-by-town", {"town": "Redmond", "token": token})
    assert [fault.code for fault in caught.value.faults] == ["InvalidToken"]


async def test_a_token_of_a_retired_generation_has_expired() -> None:
    """The caller starts again; nothing is skipped silently."""
    tables = MemoryTables()
    await put_facts(tables, facts())
    lookups = Lookups(DefinedGenerations(DEFINITIONS), Replicas(tables), TOKENS)
    token = TOKENS.seal("customers-by-town", PARAMETERS, PagePosition("feedfeedfeedfeed", "x"))
    with pytest.raises(ContinuationExpiredError, match="start again"):
        await lookups.find("customers-by-town", {**PARAMETERS, "token": token})


async def test_a_forged_position_stays_inside_its_query() -> None:
    """Even with the right key, a token can only narrow what the query spans."""
    tables = MemoryTables()
    await put_facts(tables, facts())
    generations = DefinedGenerations(DEFINITIONS)
    generation = (await generations.serving("customers-by-town")).id
    asked = {"town": "Redmond", "lastName": "Smith", "maxpagesize": "9"}
    token = TOKENS.seal("customers-by-town", asked, PagePosition(generation, "Jones !"))
    page = await Lookups(generations, Replicas(tables), TOKENS).find("customers-by-town", {**asked, "token": token})
    assert {entry["key"]["lastName"] for entry in page.entries} == {"Smith"}
