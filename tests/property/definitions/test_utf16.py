"""UTF-16 length, order and cut of any text, against the units themselves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shared.definitions.utf16 import utf16_cut, utf16_length, utf16_order

# Few characters, so that texts share beginnings; with lone surrogates, which `st.text` leaves out by default.
texts = st.text(st.sampled_from("a~é\ud7ff\ud83d\ude00\ue000\uffee\U0001f600"), max_size=8) | st.text()


def units(text: str) -> list[int]:
    """The code units of a text, one by one."""
    codes = map(ord, text)
    return [unit for code in codes for unit in ([code] if code < 0x10000 else surrogates(code - 0x10000))]


def surrogates(offset: int) -> list[int]:
    return [0xD800 + (offset >> 10), 0xDC00 + (offset & 0x3FF)]


@given(texts, texts)
def test_texts_are_ordered_by_their_units(left: str, right: str) -> None:
    assert (utf16_order(left) < utf16_order(right)) == (units(left) < units(right))


@given(texts)
def test_the_length_of_a_text_is_the_number_of_its_units(text: str) -> None:
    assert utf16_length(text) == len(units(text))


@given(st.text(), st.integers(0, 20))
def test_a_cut_keeps_as_many_units_as_fit_without_splitting_a_pair(text: str, length: int) -> None:
    cut = utf16_cut(text, length)
    assert text.startswith(cut)
    assert length - 1 <= utf16_length(cut) <= length or cut == text
    assert cut == text or utf16_length(text[: len(cut) + 1]) > length
