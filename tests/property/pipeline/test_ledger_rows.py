"""Ledger rows come back from their entities as they were, whatever keys and how many entries they have."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shared.pipeline.ledger.rows import (
    CurrentEntry,
    GenerationState,
    LedgerRow,
    OwedShare,
    RemovedEntry,
    decode,
    encode,
)
from shared.pipeline.packing import compress, decompress
from shared.tables.port import Insert
from shared.tables.wire import batch

FACT_KEY = "pk !id !"
VERSIONS = st.text("0123456789abcdef", min_size=44, max_size=44)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
ENTRY_KEYS = TEXTS.map(lambda sort: sort + FACT_KEY)
CURRENT = st.builds(CurrentEntry, TEXTS, ENTRY_KEYS, VERSIONS, st.text("0123456789abcdef", min_size=16, max_size=16))
REMOVED = st.builds(RemovedEntry, TEXTS, ENTRY_KEYS, VERSIONS)
OWED = st.builds(OwedShare, st.text("ABC_", min_size=1), VERSIONS | st.just(""), st.booleans(), st.integers(0, 2**40))


@st.composite
def parts(draw: st.DrawFn) -> GenerationState:
    """A part; some of its entries carry its own version."""
    version = draw(VERSIONS)
    live = [
        entry._replace(version=version) if draw(st.booleans()) else entry
        for entry in draw(st.lists(CURRENT, max_size=5))
    ]
    removed = tuple(draw(st.lists(REMOVED, max_size=5)))
    owed = tuple(draw(st.lists(OWED, max_size=2)))
    return GenerationState(version, tuple(live), removed, draw(st.booleans()), owed=owed)


ROWS = st.builds(
    LedgerRow,
    st.dictionaries(st.text("0123456789abcdefr", min_size=16, max_size=18), parts(), max_size=4),
    st.none() | TEXTS,
    st.none() | st.integers(0, 2**40),
)


@given(ROWS)
def test_a_ledger_row_comes_back_as_it_was(row: LedgerRow) -> None:
    """Parts, mark and time of deletion."""
    assert decode(encode(row, "source-001", FACT_KEY)) == row


@given(st.binary(max_size=10_000))
def test_bytes_come_back_from_compression(raw: bytes) -> None:
    """Small ones through the small deflater, others through the large one."""
    assert decompress(compress(raw)) == raw


@given(st.integers(1, 6))
def test_a_large_row_is_split_over_properties_that_the_service_takes(tens_of_kilobytes: int) -> None:
    """No property is over 64 KiB."""
    entries = [
        CurrentEntry(f"{number:030x}", f"{number * 7919:020x}{FACT_KEY}", "0" * 44, f"{number:016x}")
        for number in range(tens_of_kilobytes * 1000)
    ]
    row = LedgerRow({"0" * 16: GenerationState("1" * 44, tuple(entries))})
    entity = encode(row, "source-001", FACT_KEY)
    assert batch.encode([Insert(entity)], "Ledger")
    assert decode(entity) == row
