"""Coercion: a value of another JSON type is taken when nothing is lost, and refused otherwise."""

from __future__ import annotations

import math
from time import process_time
from typing import TYPE_CHECKING

import pytest

from shared.definitions.instants import normalise
from shared.definitions.values import REFUSED, coerce, folded

if TYPE_CHECKING:
    from shared.definitions.model import PartType, PartValue


@pytest.mark.parametrize(
    ("part_type", "value", "coerced"),
    [
        ("string", "Redmond", "Redmond"),
        ("string", 300, "300"),
        ("string", 12.0, "12"),
        ("string", 1.5, "1.5"),
        ("string", True, "true"),
        ("integer", 12, 12),
        ("integer", "12", 12),
        ("integer", "-12", -12),
        ("integer", 12.0, 12),
        ("integer", 2**80, 2**80),
        ("number", 1.5, 1.5),
        ("number", "1.50", 1.5),
        ("number", "1e3", 1000.0),
        ("number", 2**53, float(2**53)),
        ("number", 2**60, float(2**60)),
        ("boolean", False, False),
        ("boolean", "true", True),
        ("datetime", "2024-05-01", "2024-05-01T00:00:00Z"),
    ],
)
def test_a_value_is_coerced_when_nothing_is_lost(part_type: PartType, value: object, coerced: PartValue) -> None:
    """The coerced value has the type of the part."""
    result = coerce(part_type, value)
    assert result == coerced
    assert type(result) is type(coerced)


@pytest.mark.parametrize(
    ("part_type", "value"),
    [
        ("string", ["a"]),
        ("string", {"a": 1}),
        ("string", "\ud800"),
        ("string", math.nan),
        ("integer", 1.5),
        ("integer", "012"),
        ("integer", " 12"),
        ("integer", "+12"),
        ("integer", "١٢"),
        ("integer", True),
        ("integer", math.inf),
        ("integer", "9" * 4001),
        ("number", math.nan),
        ("number", math.inf),
        ("number", 2**53 + 1),
        ("number", 10**400),
        ("number", "1e400"),
        ("number", "0.1000000000000000055"),
        ("number", "NaN"),
        ("number", False),
        ("boolean", 1),
        ("boolean", 0),
        ("boolean", "True"),
        ("datetime", 1714521600),
        ("datetime", "yesterday"),
        ("datetime", "2024-02-30"),
    ],
)
def test_a_value_is_refused_when_something_would_be_lost(part_type: PartType, value: object) -> None:
    """Never a guess, never a rounding."""
    assert coerce(part_type, value) is REFUSED


def test_an_integer_longer_than_python_can_print_is_refused() -> None:
    """It cannot come out of a JSON parser either, and no key could hold it."""
    assert coerce("string", 10**5000) is REFUSED
    assert coerce("integer", 10**5000) is REFUSED


def test_minus_zero_is_zero() -> None:
    """There is one zero, or two equal values would have two keys."""
    assert math.copysign(1, float(coerce("number", -0.0))) == 1  # type: ignore[arg-type]  # a number, as asserted


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2024-05-01T12:00:00Z", "2024-05-01T12:00:00Z"),
        ("2024-05-01T12:00:00", "2024-05-01T12:00:00Z"),
        ("2024-05-01t12:00:00z", "2024-05-01T12:00:00Z"),
        ("2024-05-01 12:00", "2024-05-01T12:00:00Z"),
        ("20240501T120000Z", "2024-05-01T12:00:00Z"),
        ("2024-05-01T14:00:00+02:00", "2024-05-01T12:00:00Z"),
        ("2024-05-01T05:30:00-0630", "2024-05-01T12:00:00Z"),
        ("2024-05-01T14:00:00+02", "2024-05-01T12:00:00Z"),
        ("2024-05-01T12:00:00.1230000Z", "2024-05-01T12:00:00.123Z"),
        ("2024-05-01T12:00:00,5", "2024-05-01T12:00:00.5Z"),
        ("2024-05-01T12:00:00.1234567891234Z", "2024-05-01T12:00:00.1234567891234Z"),
        ("0001-01-01", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
    ],
)
def test_an_instant_has_one_normal_form(text: str, instant: str) -> None:
    """UTC, no needless digits, none lost."""
    assert normalise(text) == instant


@pytest.mark.parametrize(
    "text", ["", "2024", "2024-05", "2024-05-01T", "2024-05-01T25:00", "2024-05-01T12:00:60",
    "2024-05-01T12:00:00+24:00",
     "2024-05-01T12:00:00+02:60", "0000-01-01", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00",
     "2024-W01-1", "12:00:00Z", "2024-05-01T12:00:00Z\n", "٢٠٢٤-05-01"],
)  # fmt: skip
def test_what_is_no_instant_of_years_1_to_9999_is_refused(text: str) -> None:
    """Also an instant that only its offset pushes over the edge."""
    assert normalise(text) is None


def test_folding_joins_the_spellings_of_one_word() -> None:
    """Case, and composed and decomposed accents."""
    assert folded("STRASSE") == folded("straße")
    assert folded("Caf\u00c9") == folded("cafe\u0301")


@pytest.mark.parametrize("marks", ["\u0315\u0300", "\u0f72\u0f71", "\u0f73"])
def test_a_text_of_nothing_but_marks_is_folded_in_no_time(marks: str) -> None:
    """Their order took time that grew with the square of their number: 3 s for 130 KB, in which nothing else ran."""
    text = "A" + marks * 400_000
    before = process_time()
    assert folded(text) == text.casefold()
    assert process_time() - before < 3


def test_as_many_marks_as_a_letter_may_have_are_put_in_order() -> None:
    """One more, and the text keeps its spelling."""
    assert folded("é" + "\u0315" * 98 + "\u0300") == folded("e\u0301\u0300" + "\u0315" * 98)
    assert folded("É" + "\u0315" * 100 + "\u0300") == "é" + "\u0315" * 100 + "\u0300"
