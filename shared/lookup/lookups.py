"""Lookups: plan, wait, read, expand. What the HTTP functions use, and what an application may import.

The steps of a lookup: find the generation that answers; read options and conditions, and report all their faults at
once; go on where a token says, on that token's generation; wait for a change that must be seen; read one page; fetch
facts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from shared.catalog.catalog import Catalog
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.entries.projection.selection import compile_paths
from shared.entries.rows.json_text import canonical_bytes
from shared.errors import (
    BadLookupError,
    BadRequestError,
    ContinuationExpiredError,
    SettingError,
    StorageUnavailableError,
)
from shared.inputs.faults import REFUSALS, fault
from shared.inputs.page_tokens import PagePosition, PageTokens, next_page_parameters
from shared.lookup.expand import Expander
from shared.lookup.explain import explain_plan, explain_refusal
from shared.lookup.generations import BuildProgress, CatalogGenerations, build_is_started
from shared.lookup.options import Options, read_options
from shared.lookup.periods import PeriodsToRead
from shared.lookup.plan import Plan, in_periods, plan
from shared.lookup.read import read_page
from shared.lookup.replicas import Replicas
from shared.lookup.results import FoundEntry, is_asked_for, read_entry, shown_entry
from shared.lookup.tombstones import SeenTombstones
from shared.tasks.rows import TaskRows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shared.definitions.model import Definitions
    from shared.errors import Fault
    from shared.lookup.explain import ExplanationJson
    from shared.lookup.generations import Generations, ReadableGeneration
    from shared.lookup.read import RowPage
    from shared.lookup.read_your_writes import WriteWaiter
    from shared.lookup.results import ReadEntry
    from shared.sources.ports import Facts
    from shared.tables.port import Tables
    from shared.tables.retry import Timing


_READS_AGAIN_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class LookupPage:
    """One page of entries. `next_parameters` ask for the page after it; `etag` is None when facts were fetched."""

    entries: list[FoundEntry]
    next_parameters: dict[str, str] | None
    etag: str | None
    is_secondary: bool


@dataclass(frozen=True, slots=True)
class _LookupRequest:
    """A lookup that has been understood."""

    generation: ReadableGeneration
    options: Options
    plan: Plan
    after_entry_key: str | None


class Lookups:
    """Looks up entries of the indexes, in the default account or in those that they are placed in.

    `facts` and `own_writes` are needed only for `expand=fact` and `sees`, the clock only for entries that expire.
    """

    def __init__(
        self,
        generations: Generations,
        replicas: Replicas,
        tokens: PageTokens,
        *,
        placed: Mapping[str, Replicas] | None = None,
        facts: Facts | None = None,
        own_writes: WriteWaiter | None = None,
        now_seconds: Callable[[], float] | None = None,
        answered: Callable[[str, int, int], None] | None = None,
    ) -> None:
        """`answered` is told the index of every page, the rows read for it and the entries returned."""
        self.generations = generations
        self._now_seconds = now_seconds
        self._replicas = replicas
        self._placed = {} if placed is None else placed
        self._tokens = tokens
        self._facts = facts
        self._own_writes = own_writes
        self._answered = answered
        self._periods = PeriodsToRead(self._replicas_of)
        self._tombstones = SeenTombstones()

    async def find(self, index: str, parameters: Mapping[str, str]) -> LookupPage:
        """The page of entries that these parameters ask for."""
        asked = await self._understand(index, parameters)
        await self._wait(asked)
        asked = await self._in_periods(asked, afresh=asked.options.seen is not None)
        generation, options = asked.generation, asked.options
        page = await self._read_certain(asked)
        found = _entries_asked_for(page, asked)
        facts = await self._expanded(asked, found) if options.expands_fact else None
        select = None if options.select is None else compile_paths(options.select)
        entries = [shown_entry(each, generation.source, select) for each in found]
        if facts is not None:
            entries = [{**entry, "fact": fact} for entry, fact in zip(entries, facts, strict=True) if fact is not None]
        if self._answered is not None:
            self._answered(index, page.rows_read, len(entries))
        token = self._token(asked, parameters, page)
        return LookupPage(
            entries,
            None if token is None else next_page_parameters(parameters, token),
            None if options.expands_fact else _etag(generation, parameters, page),
            page.is_secondary,
        )

    async def explain(self, index: str, parameters: Mapping[str, str]) -> ExplanationJson:
        """How that lookup would run; a lookup that would need a scan is explained as refused."""
        generation = await self.generations.serving(index)
        try:
            asked = await self._understand(index, parameters)
        except BadLookupError as error:
            if any(each.code not in REFUSALS for each in error.faults):
                raise
            return explain_refusal(generation, error.faults)
        return explain_plan(asked.generation, (await self._in_periods(asked, afresh=False)).plan, asked.options)

    async def _understand(self, index: str, parameters: Mapping[str, str]) -> _LookupRequest:
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
        faults.extend(self._impossible(options))
        if faults or planned is None:
            raise BadLookupError(*faults)
        return _LookupRequest(generation, options, planned, None if position is None else position.entry_key)

    async def _read(self, asked: _LookupRequest) -> RowPage:
        now_seconds, table = self._time_of(asked.generation), asked.generation.table
        return await read_page(
            self._replicas_of, table, asked.plan, asked.after_entry_key, asked.options.page_size, now_seconds
        )

    async def _read_certain(self, asked: _LookupRequest) -> RowPage:
        """A page that misses nothing. What is hidden for the first time may have moved to a table that was read too
        early, or that is younger than the list of them: read again. What moves even then ends the page before it."""
        if not asked.plan.starts:  # without tables per period nothing moves from one table to another
            return await self._read(asked)
        rows_read = 0
        for is_again in (False, *[True] * _READS_AGAIN_MAX):
            began_at = self._tombstones.moment()
            page = await self._read(asked)
            rows_read += page.rows_read
            new = self._tombstones.unknown_at(began_at, page.hidden)
            certain = page if not new else page.before(new) if is_again else None
            if certain is not None:
                return replace(certain, rows_read=rows_read)
            asked = await self._in_periods(asked, afresh=True)
        raise StorageUnavailableError(
            "The first entries of this page move between periods all the time: try again.", outcome_unknown=False
        )

    async def _in_periods(self, asked: _LookupRequest, *, afresh: bool) -> _LookupRequest:
        """With every period to read, after the change that must be seen is there: it may have made a table."""
        keys = asked.generation.keys
        periods = keys.shards.periods
        if periods is None or asked.plan.is_empty:
            return asked
        now_seconds = self._time_of(asked.generation) or 0.0
        accounts = frozenset(asked.plan.accounts)
        starts = await self._periods.of(asked.generation, accounts, periods, now_seconds, afresh=afresh)
        return replace(asked, plan=in_periods(asked.plan, keys, starts))

    def _impossible(self, options: Options) -> list[Fault]:
        """What these lookups cannot do, because they were made without it."""
        faults = []
        if options.seen is not None and self._own_writes is None:
            detail = "This app cannot tell which changes it has seen; leave `sees` out."
            faults.append(fault("SeesNotPossible", "sees", detail))
        if options.expands_fact and self._facts is None:
            faults.append(fault("ExpandNotPossible", "expand", "This app reads no facts; leave expand out."))
        return faults

    def _open(self, index: str, parameters: Mapping[str, str]) -> PagePosition:
        try:
            return self._tokens.open(index, parameters, parameters["token"])
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

    def _time_of(self, generation: ReadableGeneration) -> float | None:
        """What expiry is measured by; None for an index without it."""
        if generation.index.expire is None:
            return None
        if self._now_seconds is None:
            raise SettingError(f'Entries of index "{generation.index.name}" expire: give the lookups a clock.')
        return self._now_seconds()

    def _replicas_of(self, account: str) -> Replicas:
        if account == DEFAULT_ACCOUNT:
            return self._replicas
        try:
            return self._placed[account]
        except KeyError:
            raise SettingError(
                f"There is no storage connection {account}, which the index is placed in: give its connection."
            ) from None

    async def _wait(self, asked: _LookupRequest) -> None:
        seen = asked.options.seen
        # A page that goes on need not wait: the first one did.
        if seen is not None and self._own_writes is not None and asked.after_entry_key is None:
            await self._own_writes.wait(seen, asked.generation)

    async def _expanded(self, asked: _LookupRequest, found: list[ReadEntry]) -> list[dict[str, Any] | None]:
        assert self._facts is not None
        return await Expander(asked.generation, self._facts).facts_of(found)

    def _token(self, asked: _LookupRequest, parameters: Mapping[str, str], page: RowPage) -> str | None:
        if page.last_entry_key is None:
            return None
        position = PagePosition(asked.generation.id, page.last_entry_key)
        return self._tokens.seal(asked.generation.index.name, parameters, position)


def new_lookups(
    definitions: Definitions,
    endpoints: Sequence[Tables],
    token_key: bytes,
    timing: Timing,
    refresh_seconds: float,
    *,
    reports_progress: bool = False,
    placed: Mapping[str, Replicas] | None = None,
    facts: Facts | None = None,
    own_writes: WriteWaiter | None = None,
    now_seconds: Callable[[], float] | None = None,
    answered: Callable[[str, int, int], None] | None = None,
) -> Lookups:
    """Lookups over the endpoints of a storage account: the primary one and, if it is to be read, the secondary one.

    With `reports_progress`, a lookup that comes too early is told how far the build is: that reads the rows of tasks.
    """
    catalogs = [Catalog(tables) for tables in endpoints]
    progress = BuildProgress(TaskRows(endpoints[0])).text if reports_progress else build_is_started
    return Lookups(
        CatalogGenerations(definitions, catalogs, timing, refresh_seconds, progress),
        Replicas(*endpoints),
        PageTokens(token_key),
        placed=placed,
        facts=facts,
        own_writes=own_writes,
        now_seconds=now_seconds,
        answered=answered,
    )


def _entries_asked_for(page: RowPage, asked: _LookupRequest) -> list[ReadEntry]:
    """The page's rows with what they store; rows whose cut keys only look right are left out."""
    table, keys = asked.generation.table, asked.generation.keys
    found = [entry for row in page.current if (entry := read_entry(row, table)) is not None]
    if not asked.plan.compares_stored_values:
        return found
    return [entry for entry in found if is_asked_for(entry.stored, asked.plan, keys)]


def _etag(generation: ReadableGeneration, parameters: Mapping[str, str], page: RowPage) -> str:
    """A digest of the page. Of whole rows, though their keys hold the versions: a repair writes what is right where
    something wrong stood."""
    digest = sha256(repr((generation.id, sorted(parameters.items()), page.last_entry_key)).encode())
    digest.update(canonical_bytes([row.entity for row in page.current]))
    return f'"{digest.hexdigest()[:32]}"'
