"""Many lookups of one index in one call: each is answered or refused by itself, all within the budget of the call.

What each lookup asks for is worked out first, so that together they read no more than one call may; then they run at
the same time. A lookup whose turn comes when the answer is full has an empty page with a link.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from shared.errors import BadLookupError
from shared.inputs.faults import fault
from shared.inputs.parameters import length_fault, number_fault
from shared.lookup.asking.conditions import as_parameters
from shared.lookup.asking.options import NAMES, read_options
from shared.lookup.asking.plan import check_reads
from shared.lookup.asking.value_lists import IN
from shared.lookup.lookups import LookupPage, Share
from shared.lookup.reading.page import CallBudget
from shared.pipeline.concurrency import Bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shared.errors import Fault
    from shared.lookup.generations import ReadableGeneration
    from shared.lookup.lookups import Lookups
    from shared.lookup.requests import LookupRequest

LOOKUPS_MAX: Final = 100
# Rows of all pages together: a page of a batch of many is smaller than it may be.
ROWS_MAX: Final = 10_000
# A fact is up to 2 MB, and each lookup reads one at a time then.
_EXPANDING_AT_ONCE: Final = 16

Outcome: TypeAlias = LookupPage | Exception


@dataclass(slots=True)
class Batch:
    """Lookups with the options that they share, and what they may read together."""

    lookups: Lookups
    generation: ReadableGeneration
    shared: Mapping[str, str]
    # What a caller's rights make of the parameters of each lookup.
    bind: Callable[[dict[str, str]], dict[str, str]]
    reads: int = 0
    budget: CallBudget = field(default_factory=CallBudget)

    async def answer(self, asked: Sequence[object]) -> list[Outcome]:
        """The first page of each, or why there is none."""
        sees = self.shared.get("sees")
        is_afresh = sees is not None
        if sees is not None:
            await self.lookups.wait_for(
                self.generation, read_options(self.generation.index, self.generation.source, self.shared)
            )
        at_once = _EXPANDING_AT_ONCE if "expand" in self.shared else LOOKUPS_MAX
        share = Share(self.budget, max(1, ROWS_MAX // len(asked)), is_alone=False, read_ahead=1, reads_afresh=is_afresh)
        requests = [await self._request(number, each) for number, each in enumerate(asked)]
        return await Bounded(at_once)([partial(self._answer, request, share) for request in requests])

    async def _answer(self, request: LookupRequest | Exception, share: Share) -> LookupPage:
        if isinstance(request, Exception):
            raise request
        return await self.lookups.answer(request, share)

    async def _request(self, number: int, asked: object) -> LookupRequest | Exception:
        try:
            common = {name: value for name, value in self.shared.items() if name != "sees"}
            parameters = self.bind({**common, **lookup_parameters(asked, f"lookups[{number}]")})
            request = await self.lookups.requests.read(self.generation.index.name, parameters)
            check_reads(self.reads + request.plan.reads)
            self.reads += request.plan.reads
        except Exception as error:  # the caller gets it in the place of the page
            return error
        return request


async def answer_batch(
    lookups: Lookups,
    index: str,
    asked: Sequence[object],
    shared: Mapping[str, str],
    bind: Callable[[dict[str, str]], dict[str, str]] = lambda parameters: parameters,
) -> list[Outcome]:
    """The first page of each lookup, or why there is none; raises what concerns all of them."""
    generation = await lookups.generations.serving(index)
    if not 1 <= len(asked) <= LOOKUPS_MAX:
        detail = f"There are {len(asked)} lookups; send 1 to {LOOKUPS_MAX} in a call."
        raise BadLookupError(fault("InvalidParameterValue", "lookups", detail))
    options = read_options(generation.index, generation.source, shared)
    if wrong := lookups.requests.impossible(options):
        raise BadLookupError(*wrong)
    return await Batch(lookups, generation, shared, bind).answer(asked)


def page_of(found: Outcome) -> LookupPage:
    """The page of a lookup; raises what there is instead."""
    if isinstance(found, Exception):
        raise found
    return found


def within_limits(parameters: dict[str, str]) -> dict[str, str]:
    """Parameters that came in a body, if they keep to the limits of an address: a filter is parsed at once, and kept.
    Lists may be longer, since the number of their values is limited."""
    if too_many := number_fault(len(parameters)):
        raise BadLookupError(too_many)
    alone = [(name, value) for name, value in parameters.items() if not name.endswith(f".{IN}")]
    if too_long := [found for name, value in alone if (found := length_fault(name, value))]:
        raise BadLookupError(*too_long)
    return parameters


def lookup_parameters(asked: object, where: str) -> dict[str, str]:
    """The parameters of a lookup that is an object: values as in Python, lists only for `PART.in`."""
    if not isinstance(asked, dict):
        raise BadLookupError(
            fault("InvalidParameterValue", where, f"{where} is not an object; send one such as {_EXAMPLE}.")
        )
    if wrong := [found for name, value in asked.items() if (found := _value_fault(name, value, where))]:
        raise BadLookupError(*wrong)
    return as_parameters(asked)


def _value_fault(name: str, value: object, where: str) -> Fault | None:
    if value is None or isinstance(value, (str, int, float)):
        return None
    detail = f"{name} of {where} is not a single value; send text, a number, true, false or null."
    if isinstance(value, list):
        if name.endswith(f".{IN}"):
            return None
        # Options and comparisons have no lists of values at all.
        if "." not in name and name not in NAMES:
            detail = f"{name} of {where} is a list; send a single value, or the list as {name}.{IN}."
    return fault("InvalidParameterValue", name, detail)


_EXAMPLE: Final = json.dumps({"PART": "value"})
