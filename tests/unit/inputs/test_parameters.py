"""Parameters as they were sent: decoded strictly, each once, within limits."""

from __future__ import annotations

import pytest

from shared.errors import BadRequestError
from shared.inputs.parameters import parse, query_of, to_query


def test_parameters_are_read_from_the_query_as_it_was_sent() -> None:
    """Empty values stay, `+` is a space, Azure's keys are gone, and the path may hold anything."""
    url = "http://host/api/indexes/x/entries?town=&a=1%2B+2&code=secret&clientId=me&b"
    assert parse(query_of(url)) == {"town": "", "a": "1+ 2", "b": ""}


@pytest.mark.parametrize("value", ["", "a b", "ü/&=?#+%", "'", "\U0001f600", "\x00"])
def test_a_query_is_written_as_it_is_read(value: str) -> None:
    """Whatever a value holds."""
    assert parse(to_query({"name": value})) == {"name": value}


def test_parameters_report_all_faults_of_their_writing() -> None:
    """Each with its own code."""
    with pytest.raises(BadRequestError) as caught:
        parse("a=1&a=2&b=%ff&c=" + "x" * 5000 + "&\udcff=1")
    codes = [fault.code for fault in caught.value.faults]
    assert codes == ["RepeatedParameter", "InvalidEncoding", "ParameterTooLong", "InvalidEncoding"]
