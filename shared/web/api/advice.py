"""The HTTP API of advice, without the binding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.inputs.parameters import no_parameters
from shared.web.answers import HttpAnswer, json_answer

if TYPE_CHECKING:
    from shared.advice.advisor import Advisor


async def advice(advisor: Advisor, url: str) -> HttpAnswer:
    """Every index in numbers, and what the pattern warns of."""
    no_parameters(url)
    return json_answer(await advisor.report())
