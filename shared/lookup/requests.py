"""A lookup that has been understood: the generation that answers, its options, its plan, and where its page begins.

Faults of options and conditions are reported together. A token names the generation that the lookup began on.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.errors import (
    BadLookupError,
    BadRequestError,
    ContinuationExpiredError,
    IndexBuildingError,
    UnknownIndexError,
)
from shared.inputs.faults import fault
from shared.inputs.page_tokens import PagePosition
from shared.lookup.asking.options import Options, read_options
from shared.lookup.asking.plan import plan
from shared.lookup.asking.suggestions import suggestion
from shared.lookup.reading.merge import Position

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.errors import Fault, SuggestionJson
    from shared.inputs.page_tokens import PageTokens
    from shared.lookup.asking.plan import Plan
    from shared.lookup.generations import Generations, ReadableGeneration


@dataclass(frozen=True, slots=True)
class LookupRequest:
    """A lookup that has been understood. `after` is None on the first page."""

    generation: ReadableGeneration
    parameters: Mapping[str, str]
    options: Options
    plan: Plan
    after: Position | None


@dataclass(frozen=True, slots=True)
class RequestReader:
    """Understands lookups; knows what they cannot do, because they were made without it."""

    generations: Generations
    tokens: PageTokens
    can_see: bool
    can_expand: bool
    # The names of the indexes that may be suggested instead.
    known: tuple[str, ...] = ()

    async def read(self, index: str, parameters: Mapping[str, str]) -> LookupRequest:
        """The request in these parameters; raises `BadLookupError` with all their faults, and what to ask instead."""
        try:
            return await self._read(index, parameters)
        except BadLookupError as error:
            error.suggestion = await self._suggestion(index, parameters, error.faults)
            raise

    async def _suggestion(
        self, index: str, parameters: Mapping[str, str], faults: Sequence[Fault]
    ) -> SuggestionJson | None:
        others = []
        for name in self.known:
            with suppress(IndexBuildingError, UnknownIndexError):
                others.append(await self.generations.serving(name))
        return suggestion(await self.generations.serving(index), others, self.known, parameters, faults)

    async def _read(self, index: str, parameters: Mapping[str, str]) -> LookupRequest:
        generation = await self.generations.serving(index)
        position = None
        if "token" in parameters:
            position = self._open(index, parameters)
            generation = await self._generation_of(index, position)
        faults: list[Fault] = []
        options, planned = Options(), None
        try:
            options = read_options(generation.index, generation.source, parameters)
        except BadLookupError as error:
            faults.extend(error.faults)
        try:
            planned = plan(generation.index, generation.keys, parameters)
        except BadLookupError as error:
            faults.extend(error.faults)
        faults.extend(self.impossible(options))
        if faults or planned is None:
            raise BadLookupError(*faults)
        after = None if position is None or not position.entry_key else Position(position.partition, position.entry_key)
        return LookupRequest(generation, parameters, options, planned, after)

    def token(self, asked: LookupRequest, end: Position | None) -> str:
        """The token of the page after a position, or of one that begins where this one did."""
        position = (
            PagePosition(asked.generation.id, "")
            if end is None
            else PagePosition(asked.generation.id, end.entry_key, end.partition)
        )
        return self.tokens.seal(asked.generation.index.name, asked.parameters, position)

    def impossible(self, options: Options) -> list[Fault]:
        """What these options ask for in vain."""
        faults = []
        if options.seen is not None and not self.can_see:
            detail = 'This app cannot tell which changes it has seen; leave "sees" out.'
            faults.append(fault("SeesNotPossible", "sees", detail))
        if options.expands_fact and not self.can_expand:
            faults.append(fault("ExpandNotPossible", "expand", "This app reads no facts; leave expand out."))
        return faults

    def _open(self, index: str, parameters: Mapping[str, str]) -> PagePosition:
        try:
            return self.tokens.open(index, parameters, parameters["token"])
        except BadRequestError as error:
            raise BadLookupError(*error.faults) from None

    async def _generation_of(self, index: str, position: PagePosition) -> ReadableGeneration:
        generation = await self.generations.still_there(index, position.generation)
        if generation is None:
            raise ContinuationExpiredError(
                f'The generation of index "{index}" that this token continues on is retired: '
                "start again at the first page."
            )
        return generation
