"""The HTTP API of dead letters, without the binding: what operators do with them, page by page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Final, NotRequired, TypedDict, cast, get_args

from shared.definitions.answer_types import Count, InstantText, SchemaKeywords
from shared.definitions.instants import instant_text
from shared.definitions.suggestions import did_you_mean_one_of
from shared.errors import BadRequestError, FailureKind, NotReplayableError
from shared.inputs.bodies import read_members
from shared.inputs.faults import fault, shown
from shared.inputs.page_size import page_size
from shared.inputs.page_tokens import PagePosition, next_page_parameters
from shared.inputs.parameters import no_parameters, parse, query_of, to_query
from shared.lookup.reading.results import shown_partition_key
from shared.pipeline.dead_letters.listing import DeadLetterFilter, ListPosition
from shared.pipeline.dead_letters.replay import Result
from shared.pipeline.dead_letters.rows import KINDS
from shared.web.answers import json_answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.errors import Fault
    from shared.inputs.page_tokens import PageTokens
    from shared.pipeline.dead_letters.replay import Replayed
    from shared.pipeline.dead_letters.rows import StoredDeadLetter
    from shared.pipeline.dead_letters.service import DeadLetterService, KnownNames
    from shared.web.answers import HttpAnswer

FILTERS: Final = ("source", "index", "kind", "reason")
OLDER_THAN: Final = "olderThanDays"
_PAGING: Final = ("maxpagesize", "token")
# What tokens are sealed for; no index has such a name, so that none of a lookup fits.
_LISTED: Final = "/dead-letters"
DAYS_MAX: Final = 3650
_SECONDS_PER_DAY: Final = 86_400


class DeadLetterFactJson(TypedDict):
    """The fact of a dead letter; `partitionKey` is there when its source has one."""

    id: str
    partitionKey: NotRequired[Any]


class _IndexNameJson(TypedDict):
    """The index of a dead letter; what could not be read is of none."""

    index: NotRequired[str]


class _FailedChangeJson(TypedDict):
    """The change of a dead letter, as far as it could be read."""

    fact: NotRequired[DeadLetterFactJson]
    version: NotRequired[str]


class DeadLetterJson(_IndexNameJson, _FailedChangeJson):
    """A dead letter. What could not be read at all is of no index and no fact."""

    id: str
    source: str
    kind: FailureKind
    reason: str
    failedAt: InstantText


class WholeDeadLetterJson(DeadLetterJson):
    """A dead letter, with what arrived."""

    document: Annotated[Any, SchemaKeywords("What arrived: JSON, or text where it was none.")]


class ReplayJson(_IndexNameJson):
    """What became of a replayed dead letter."""

    id: str
    source: str
    outcome: Result
    detail: str


class _NextLinkJson(TypedDict):
    """What every answer in pages has."""

    nextLink: NotRequired[Annotated[str, SchemaKeywords("Where to go on; absent at the end.", format="uri")]]


class DeadLetterPageJson(_NextLinkJson):
    """A page of dead letters."""

    value: list[DeadLetterJson]


class ReplayPageJson(_NextLinkJson):
    """What became of a page of dead letters."""

    value: list[ReplayJson]
    counts: dict[Result, Count]


class PurgeJson(_NextLinkJson):
    """How many dead letters of a page were removed."""

    purged: Count


class DeadLetterApi:
    """Answers requests about the dead letters of one app."""

    def __init__(self, service: DeadLetterService, tokens: PageTokens) -> None:
        self._service = service
        self._tokens = tokens

    async def dead_letters(self, url: str) -> HttpAnswer:
        """One page of dead letters."""
        request = await self._page_request(url)
        page = await self._service.page(request.wanted, request.size, request.after)
        content: DeadLetterPageJson = {
            "value": [_dead_letter_json(dead_letter) for dead_letter in page.dead_letters],
            **request.next_link(page.last),
        }
        return json_answer(content)

    async def dead_letter(self, identity: str, url: str) -> HttpAnswer:
        """One dead letter, with what arrived."""
        no_parameters(url)
        found = await self._service.find(identity)
        content: WholeDeadLetterJson = {**_dead_letter_json(found), "document": await self._service.document(found)}
        return json_answer(content)

    async def replay(self, identity: str, url: str, body: bytes) -> HttpAnswer:
        """Replay one dead letter; one that is not even tried is a problem."""
        no_parameters(url)
        read_members(body, {})
        (replayed,) = await self._service.replay([await self._service.find(identity)])
        if replayed.result == "refused":
            raise NotReplayableError(replayed.detail)
        return json_answer(_replay_json(replayed))

    async def replay_all(self, url: str, body: bytes) -> HttpAnswer:
        """Replay the dead letters of one page; with a link to go on with, as long as there are more."""
        read_members(body, {})
        request = await self._page_request(url)
        page = await self._service.page(request.wanted, request.size, request.after)
        done = await self._service.replay(page.dead_letters)
        content: ReplayPageJson = {
            "value": [_replay_json(replayed) for replayed in done],
            "counts": _counts(done),
            **request.next_link(page.last),
        }
        return json_answer(content)

    async def purge(self, url: str, body: bytes) -> HttpAnswer:
        """Forget old dead letters of one page; with a link to go on with, as long as there are more."""
        read_members(body, {})
        request = await self._page_request(url, OLDER_THAN)
        purged, last = await self._service.purge(
            request.wanted, request.size, request.after, request.older_than_seconds
        )
        content: PurgeJson = {"purged": purged, **request.next_link(last)}
        return json_answer(content)

    async def _page_request(self, url: str, *more: str) -> _PageRequest:
        parameters = parse(query_of(url))
        faults = _unknown(parameters, (*FILTERS, *more, *_PAGING))
        known = await self._service.known()
        wanted = _filter(parameters, known, faults)
        size = page_size(parameters.get("maxpagesize"), faults)
        older_than_seconds = _older_than_seconds(parameters.get(OLDER_THAN), faults)
        if faults:
            raise BadRequestError(*faults)
        after = None
        if (token := parameters.get("token")) is not None:
            position = self._tokens.open(_LISTED, parameters, token)
            after = ListPosition(position.generation, position.entry_key)
        return _PageRequest(url, parameters, wanted, size, after, older_than_seconds, self._tokens)


class _PageRequest:
    """What a request asks for."""

    def __init__(
        self,
        url: str,
        parameters: Mapping[str, str],
        wanted: DeadLetterFilter,
        size: int,
        after: ListPosition | None,
        older_than_seconds: float | None,
        tokens: PageTokens,
    ) -> None:
        self._url = url
        self._parameters = parameters
        self._tokens = tokens
        self.wanted = wanted
        self.size = size
        self.after = after
        self.older_than_seconds = older_than_seconds

    def next_link(self, last: ListPosition | None) -> _NextLinkJson:
        """The link to what comes after a position; nothing after the last one."""
        if last is None:
            return {}
        token = self._tokens.seal(_LISTED, self._parameters, PagePosition(*last))
        return {"nextLink": f"{self._url.partition('?')[0]}?{to_query(next_page_parameters(self._parameters, token))}"}


def _unknown(parameters: Mapping[str, str], known: Sequence[str]) -> list[Fault]:
    return [
        fault("UnknownParameter", name, f"There is no parameter {shown(name)} here. {did_you_mean_one_of(name, known)}")
        for name in parameters
        if name not in known
    ]


def _filter(parameters: Mapping[str, str], known: KnownNames, faults: list[Fault]) -> DeadLetterFilter:
    """The filter; a value that no dead letter can have is a mistake of the caller, not an empty page."""
    possible = {"source": known.sources, "index": known.indexes, "kind": KINDS}
    for name, values in possible.items():
        if (value := parameters.get(name)) is not None and value not in values:
            detail = f"There is no {name} {shown(value)}. {did_you_mean_one_of(value, values)}"
            faults.append(fault("InvalidParameterValue", name, detail))
    source, index, kind, reason = (parameters.get(name) for name in FILTERS)
    return DeadLetterFilter(source, index, kind, reason)


def _older_than_seconds(text: str | None, faults: list[Fault]) -> float | None:
    if text is None:
        return None
    if text.isascii() and text.isdecimal() and int(text[:5]) <= DAYS_MAX and len(text) <= 4:
        return int(text) * _SECONDS_PER_DAY
    detail = f"{OLDER_THAN} is {shown(text)}; send a whole number of days from 0 to {DAYS_MAX}."
    faults.append(fault("InvalidParameterValue", OLDER_THAN, detail))
    return None


def _dead_letter_json(dead_letter: StoredDeadLetter) -> DeadLetterJson:
    return {
        "id": dead_letter.id,
        "source": dead_letter.source,
        **_index_json(dead_letter),
        "kind": cast("FailureKind", dead_letter.kind),
        "reason": dead_letter.reason,
        "failedAt": instant_text(dead_letter.failed_at_seconds),
        **_failed_change_json(dead_letter),
    }


def _failed_change_json(dead_letter: StoredDeadLetter) -> _FailedChangeJson:
    if dead_letter.fact_id is None:
        return {}
    fact: DeadLetterFactJson = {"id": dead_letter.fact_id}
    if dead_letter.partition_key:
        fact["partitionKey"] = shown_partition_key(dead_letter.partition_key)
    return {"fact": fact, "version": dead_letter.version}


def _index_json(dead_letter: StoredDeadLetter) -> _IndexNameJson:
    """What could not be read is of no index."""
    return {} if dead_letter.is_unreadable else {"index": dead_letter.index}


def _replay_json(replayed: Replayed) -> ReplayJson:
    dead_letter = replayed.dead_letter
    return {
        "id": dead_letter.id,
        "source": dead_letter.source,
        **_index_json(dead_letter),
        "outcome": replayed.result,
        "detail": replayed.detail,
    }


def _counts(done: Sequence[Replayed]) -> dict[Result, int]:
    counted = Counter(replayed.result for replayed in done)
    return {result: counted[result] for result in get_args(Result)}
