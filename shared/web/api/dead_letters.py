"""The HTTP API of dead letters, without the binding: what operators do with them, page by page."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, get_args

from shared.definitions.suggestions import did_you_mean_one_of
from shared.errors import BadRequestError, NotReplayableError
from shared.inputs.bodies import read_members
from shared.inputs.faults import fault, shown
from shared.inputs.page_size import page_size
from shared.inputs.page_tokens import PagePosition, next_page_parameters
from shared.inputs.parameters import no_parameters, parse, query_of, to_query
from shared.lookup.results import shown_partition_key
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


class DeadLetterApi:
    """Answers requests about the dead letters of one app."""

    def __init__(self, desk: DeadLetterService, tokens: PageTokens) -> None:
        self._desk = desk
        self._tokens = tokens

    async def letters(self, url: str) -> HttpAnswer:
        """One page of letters."""
        asked = await self._asked(url)
        page = await self._desk.page(asked.wanted, asked.size, asked.after)
        return json_answer({"value": [_summary(letter) for letter in page.dead_letters], **asked.next_link(page.last)})

    async def letter(self, identity: str, url: str) -> HttpAnswer:
        """One letter, with what arrived."""
        no_parameters(url)
        found = await self._desk.find(identity)
        return json_answer({**_summary(found), "document": await self._desk.document(found)})

    async def replay(self, identity: str, url: str, body: bytes) -> HttpAnswer:
        """Replay one letter; one that is not even tried is a problem."""
        no_parameters(url)
        read_members(body, {})
        (replayed,) = await self._desk.replay([await self._desk.find(identity)])
        if replayed.result == "refused":
            raise NotReplayableError(replayed.detail)
        return json_answer(_outcome(replayed))

    async def replay_all(self, url: str, body: bytes) -> HttpAnswer:
        """Replay the letters of one page; with a link to go on with, as long as there are more."""
        read_members(body, {})
        asked = await self._asked(url)
        page = await self._desk.page(asked.wanted, asked.size, asked.after)
        done = await self._desk.replay(page.dead_letters)
        return json_answer(
            {"value": [_outcome(each) for each in done], "counts": _counts(done), **asked.next_link(page.last)}
        )

    async def purge(self, url: str, body: bytes) -> HttpAnswer:
        """Forget old letters of one page; with a link to go on with, as long as there are more."""
        read_members(body, {})
        asked = await self._asked(url, OLDER_THAN)
        purged, last = await self._desk.purge(asked.wanted, asked.size, asked.after, asked.older_than_seconds)
        return json_answer({"purged": purged, **asked.next_link(last)})

    async def _asked(self, url: str, *more: str) -> _PageRequest:
        parameters = parse(query_of(url))
        faults = _unknown(parameters, (*FILTERS, *more, *_PAGING))
        known = await self._desk.known()
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

    def next_link(self, last: ListPosition | None) -> dict[str, str]:
        """The link to what comes after a place; nothing after the last one."""
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
    """The filter; a value that no letter can have is a slip of the pen, not an empty page."""
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


def _summary(letter: StoredDeadLetter) -> dict[str, Any]:
    content: dict[str, Any] = {"id": letter.id, "source": letter.source}
    if not letter.is_unreadable:
        content |= {"index": letter.index}
    content |= {"kind": letter.kind, "reason": letter.reason, "failedAt": _instant(letter.failed_at_seconds)}
    if letter.fact_id is not None:
        content["fact"] = {"id": letter.fact_id}
        if letter.partition_key:
            content["fact"]["partitionKey"] = shown_partition_key(letter.partition_key)
        content["version"] = letter.version
    return content


def _instant(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _outcome(replayed: Replayed) -> dict[str, Any]:
    letter = replayed.letter
    where = {} if letter.is_unreadable else {"index": letter.index}
    return {
        "id": letter.id,
        "source": letter.source,
        **where,
        "outcome": replayed.result,
        "detail": replayed.detail,
    }


def _counts(done: Sequence[Replayed]) -> dict[str, int]:
    counted = Counter(each.result for each in done)
    return {result: counted[result] for result in get_args(Result)}
