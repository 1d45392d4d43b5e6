"""The HTTP API of lookups, without the binding: each method takes what a request says and gives an answer."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from shared.errors import IndexBuildingError
from shared.inputs.parameters import no_parameters, parse, query_of
from shared.web.answers import HttpAnswer, json_answer
from shared.web.api.entry_pages import entry_page_json
from shared.web.api.index_descriptions import IndexListJson, describe

if TYPE_CHECKING:
    from shared.definitions.model import Definitions
    from shared.lookup.generations import Generations
    from shared.lookup.lookups import Lookups
    from shared.web.api.index_descriptions import IndexJson

# Kept by the caller only, and asked about again each time: that is what the ETag is for.
_REVALIDATE: Final = "private, no-cache"

_log = logging.getLogger(__name__)


class LookupApi:
    """Answers requests about the indexes of one app."""

    def __init__(self, definitions: Definitions, generations: Generations, lookups: Lookups) -> None:
        self._definitions = definitions
        self._generations = generations
        self._lookups = lookups

    async def indexes(self, url: str) -> HttpAnswer:
        """All indexes."""
        no_parameters(url)
        return json_answer(IndexListJson(value=[await self._described(name) for name in self._definitions.indexes]))

    async def index(self, name: str, url: str) -> HttpAnswer:
        """One index."""
        no_parameters(url)
        return json_answer(await self._described(name))

    async def entries(self, name: str, url: str, if_none_match: str | None) -> HttpAnswer:
        """One page of a lookup; 304 when the caller has it already."""
        page = await self._lookups.find(name, parse(query_of(url)))
        _log.debug(
            "A lookup was answered",
            extra={"index": name, "entries": len(page.entries), "has_more": page.next_parameters is not None},
        )
        headers = {} if page.etag is None else {"ETag": page.etag, "Cache-Control": _REVALIDATE}
        if page.etag is not None and _matches(if_none_match, page.etag):
            return HttpAnswer(b"", 304, headers=headers)
        return json_answer(entry_page_json(page, url), headers)

    async def explain(self, name: str, url: str) -> HttpAnswer:
        """How a lookup would run."""
        return json_answer(await self._lookups.explain(name, parse(query_of(url))))

    async def _described(self, name: str) -> IndexJson:
        """The index with the generation that serves it, or as building while none does."""
        try:
            generation = await self._generations.serving(name)
        except IndexBuildingError:
            index = self._definitions.indexes[name]
            return describe(index, self._definitions.sources[index.source], "building", None)
        return describe(generation.index, generation.source, "serving", generation.id)


def _matches(if_none_match: str | None, etag: str) -> bool:
    """Whether the caller's If-None-Match names this ETag (weak comparison, as RFC 9110 says) or any."""
    offered = [each.strip().removeprefix("W/") for each in (if_none_match or "").split(",")]
    return etag in offered or "*" in offered
