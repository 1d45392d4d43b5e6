"""The HTTP API of lookups, without the binding: each method takes what a request says and gives an answer."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Final, TypedDict

from shared.definitions.answer_types import SchemaKeywords
from shared.errors import IndexBuildingError
from shared.inputs.bodies import LIST, TEXT, WHOLE_NUMBER, read_members
from shared.inputs.parameters import no_parameters, parse, query_of
from shared.lookup.asking.conditions import as_parameters
from shared.lookup.batch import answer_batch, page_of, within_limits
from shared.lookup.count import count_entries
from shared.lookup.generations import unknown_index
from shared.web import problems
from shared.web.answers import HttpAnswer, json_answer
from shared.web.api.entry_pages import EntryPageJson, entry_page_json
from shared.web.api.index_descriptions import IndexListJson, describe
from shared.web.error_problems import problem_for
from shared.web.problems import ProblemJson

if TYPE_CHECKING:
    from shared.definitions.model import Definitions
    from shared.inputs.parameters import Parameters
    from shared.lookup.batch import Outcome
    from shared.lookup.generations import Generations
    from shared.lookup.lookups import Lookups
    from shared.web.access import Rights
    from shared.web.api.index_descriptions import IndexJson

# Kept by the caller only, and asked about again each time: that is what the ETag is for.
_REVALIDATE: Final = "private, no-cache"

BATCH_MEMBERS: Final = {
    "lookups": LIST,
    "maxpagesize": WHOLE_NUMBER,
    "select": TEXT,
    "filter": TEXT,
    "expand": TEXT,
    "sees": TEXT,
}


class FailedLookupJson(TypedDict):
    """A lookup that has no page."""

    error: ProblemJson


class BatchJson(TypedDict):
    """The first page of each lookup, or its problem, in the order asked."""

    value: list[EntryPageJson | FailedLookupJson]


class CountJson(TypedDict):
    """How many entries a lookup would find."""

    count: int
    isExact: Annotated[bool, SchemaKeywords("False when there are more: no more rows are counted than docs say.")]


_log = logging.getLogger(__name__)


class LookupApi:
    """Answers requests about the indexes of one app, as far as the rights of the caller go."""

    def __init__(self, definitions: Definitions, generations: Generations, lookups: Lookups, rights: Rights) -> None:
        self._definitions = definitions
        self._generations = generations
        self._lookups = lookups
        self._rights = rights

    async def indexes(self, url: str) -> HttpAnswer:
        """All indexes."""
        self._rights.require_any()
        no_parameters(url)
        readable = self._rights.readable(self._definitions.indexes)
        return json_answer(IndexListJson(value=[await self._described(name) for name in readable]))

    async def index(self, name: str, url: str) -> HttpAnswer:
        """One index."""
        self._require_reader(name)
        no_parameters(url)
        return json_answer(await self._described(name))

    async def entries(self, name: str, url: str, if_none_match: str | None) -> HttpAnswer:
        """One page of a lookup; 304 when the caller has it already."""
        asked = self._asked(name, url)
        with self._rights.suggesting():
            page = await self._lookups.find(name, asked)
        _log.debug(
            "A lookup was answered",
            extra={"index": name, "entries": len(page.entries), "has_more": page.next_parameters is not None},
        )
        headers = {} if page.etag is None else {"ETag": page.etag, "Cache-Control": _REVALIDATE}
        if page.etag is not None and _matches(if_none_match, page.etag):
            return HttpAnswer(b"", 304, headers=headers)
        return json_answer(entry_page_json(page, url), headers)

    async def batch(self, name: str, url: str, body: bytes) -> HttpAnswer:
        """The first pages of many lookups; each has its page or its problem."""
        self._require_reader(name)
        no_parameters(url)
        members = read_members(body, BATCH_MEMBERS)
        asked = members.pop("lookups", [])
        common = within_limits(as_parameters(members))

        def bind(parameters: Parameters) -> Parameters:
            return self._rights.bound(name, within_limits(parameters))

        found = await answer_batch(self._lookups, name, asked, common, bind)
        entries_url = f"{url.partition('?')[0].removesuffix('/lookups')}/entries"
        return json_answer(BatchJson(value=[self._outcome(each, entries_url) for each in found]))

    async def count(self, name: str, url: str, if_none_match: str | None) -> HttpAnswer:
        """How many entries a lookup would find; 304 when the caller knows."""
        asked = self._asked(name, url)
        with self._rights.suggesting():
            counted = await count_entries(self._lookups, name, asked)
        headers = {"ETag": counted.etag, "Cache-Control": _REVALIDATE}
        if _matches(if_none_match, counted.etag):
            return HttpAnswer(b"", 304, headers=headers)
        return json_answer(CountJson(count=counted.count, isExact=counted.is_exact), headers)

    async def explain(self, name: str, url: str) -> HttpAnswer:
        """How a lookup would run."""
        asked = self._asked(name, url)
        with self._rights.suggesting():
            explained = await self._lookups.explain(name, asked)
        if "suggestion" in explained and not self._rights.may_ask(explained["suggestion"]):
            del explained["suggestion"]
        return json_answer(explained)

    def _outcome(self, found: Outcome, url: str) -> EntryPageJson | FailedLookupJson:
        try:
            with self._rights.suggesting():
                return entry_page_json(page_of(found), url)
        except Exception as error:  # a problem in the place of the page
            return FailedLookupJson(error=problems.members(problem_for(error)))

    def _asked(self, name: str, url: str) -> Parameters:
        """What the caller asks, with the parts that are bound to them."""
        self._require_reader(name)
        return self._rights.bound(name, parse(query_of(url)))

    def _require_reader(self, name: str) -> None:
        """Refuse a caller who may not read the index, and a name that no index has: with names that they may hear."""
        if name not in self._definitions.indexes:
            self._rights.require_any()
            raise unknown_index(name, self._rights.known(self._definitions.indexes))
        self._rights.require_reader(name)

    async def _described(self, name: str) -> IndexJson:
        """The index with the generation that serves it, or as building while none does; where values of its parts lead
        to, for callers who may ask for all of them."""
        try:
            generation = await self._generations.serving(name)
            described = describe(generation.index, generation.source, "serving", generation.id)
        except IndexBuildingError:
            index = self._definitions.indexes[name]
            described = describe(index, self._definitions.sources[index.source], "building", None)
        if not self._rights.may_see_all(name):
            described.pop("hot", None)
            described.pop("placement", None)
        return described


def _matches(if_none_match: str | None, etag: str) -> bool:
    """Whether the caller's If-None-Match names this ETag (weak comparison, as RFC 9110 says) or any."""
    offered = [each.strip().removeprefix("W/") for each in (if_none_match or "").split(",")]
    return etag in offered or "*" in offered
