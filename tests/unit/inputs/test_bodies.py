"""Bodies of calls: what JSON calls a whole number is one, however it is written."""

from __future__ import annotations

import pytest

from shared.errors import LifecycleRefusedError
from shared.inputs.bodies import WHOLE_NUMBER, read_members


def test_a_whole_number_may_have_a_point() -> None:
    """2301.0 and 2301 are one number in JSON, and in JSON Schema one integer."""
    sample = read_members(b'{"sample": 2301.0}', {"sample": WHOLE_NUMBER})["sample"]
    assert (sample, type(sample)) == (2301, int)


@pytest.mark.parametrize("text", ["0.5", "1e400", "true", '"7"', "null"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    """With what it should be, or that it is no JSON."""
    with pytest.raises(LifecycleRefusedError):
        read_members(b'{"sample": %s}' % text.encode(), {"sample": WHOLE_NUMBER})
