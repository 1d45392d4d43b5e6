"""The page size that a caller asks for with `maxpagesize`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shared.inputs.faults import fault, shown

if TYPE_CHECKING:
    from shared.errors import Fault

PAGE_SIZE_DEFAULT: Final = 100
PAGE_SIZE_MAX: Final = 1000
_DIGITS: Final = re.compile(r"[0-9]{1,4}", re.ASCII)


def page_size(text: str | None, faults: list[Fault]) -> int:
    """What `maxpagesize` says; a bad value is one more fault."""
    if text is None:
        return PAGE_SIZE_DEFAULT
    if _DIGITS.fullmatch(text) and 1 <= int(text) <= PAGE_SIZE_MAX:
        return int(text)
    detail = f"maxpagesize is {shown(text)}; send a whole number from 1 to {PAGE_SIZE_MAX}."
    faults.append(fault("InvalidPageSize", "maxpagesize", detail))
    return PAGE_SIZE_DEFAULT
