"""Lookups: plan, wait, read, expand. What the HTTP functions use, and what an application may import.

The steps of a lookup: find the generation that answers; read options and conditions, and report all their faults at
once; go on where a token says, on that token's generation; wait for a change that must be seen; read one page; fetch
facts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import orjson

from shared.catalog.catalog import Catalog
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.entries.projection.selection import compile_paths
from shared.errors import BadLookupError, SettingError, StorageUnavailableError
from shared.inputs.faults import REFUSALS
from shared.inputs.page_tokens import PageTokens, next_page_parameters
from shared.lookup.asking.explain import explain_plan, explain_refusal
from shared.lookup.asking.filters import FILTERED_ROWS_MAX, compile_filter
from shared.lookup.asking.plan import in_periods
from shared.lookup.generations import BuildProgress, CatalogGenerations, build_is_started
from shared.lookup.reading.expand import READ_AHEAD, Expander
from shared.lookup.reading.groups import MergedGroups, total_rows
from shared.lookup.reading.merge import Allowance, MergedRows, key_order
from shared.lookup.reading.page import CallBudget, PageReader, RowPage
from shared.lookup.reading.periods import PeriodsToRead
from shared.lookup.reading.replicas import Replicas
from shared.lookup.reading.results import EntryReader, FoundEntry
from shared.lookup.reading.tombstones import SeenTombstones
from shared.lookup.requests import RequestReader
from shared.pipeline.concurrency import Bounded
from shared.tasks.rows import TaskRows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shared.definitions.model import Definitions
    from shared.lookup.asking.explain import ExplanationJson
    from shared.lookup.asking.options import Options
    from shared.lookup.generations import Generations, ReadableGeneration
    from shared.lookup.read_your_writes import WriteWaiter
    from shared.lookup.requests import LookupRequest
    from shared.pipeline.concurrency import RunAll
    from shared.sources.ports import Facts
    from shared.tables.port import Tables
    from shared.tables.retry import Timing


_READS_AGAIN_MAX: Final = 5
# Of one call, so that an account that does not answer holds up nobody else's.
_READS_AT_ONCE: Final = 64


def _reads_at_once() -> RunAll:
    return Bounded(_READS_AT_ONCE)


@dataclass(frozen=True, slots=True)
class LookupPage:
    """One page of entries. `next_parameters` ask for the page after it; `etag` is None when facts were fetched, and for
    the pages of a call with several lookups."""

    entries: list[FoundEntry]
    next_parameters: dict[str, str] | None
    etag: str | None
    is_secondary: bool
    # Accounts that hold a part of the answer and are behind: since when, in seconds since 1970.
    behind: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Share:
    """What a lookup gets of the call that it is part of: a budget, a page size, and how many facts are read ahead."""

    budget: CallBudget
    page_size_max: int
    # Whether the call has no other lookups.
    is_alone: bool = True
    # Whether a change has been waited for that may have made a table.
    reads_afresh: bool = False
    read_ahead: int = READ_AHEAD


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
        new_run_all: Callable[[], RunAll] = _reads_at_once,
        known: Sequence[str] = (),
    ) -> None:
        """`answered` is told the index of every page, the rows read for it and the entries returned; `known` are the
        indexes that may be suggested for a lookup that is refused."""
        self.generations = generations
        self.requests = RequestReader(generations, tokens, own_writes is not None, facts is not None, tuple(known))
        self._now_seconds = now_seconds
        self._replicas = replicas
        self._placed = {} if placed is None else placed
        self._facts = facts
        self._own_writes = own_writes
        self._answered = answered
        self._new_run_all = new_run_all
        self._periods = PeriodsToRead(self._replicas_of)
        self.tombstones = SeenTombstones()

    async def find(self, index: str, parameters: Mapping[str, str], share: Share | None = None) -> LookupPage:
        """The page of entries that these parameters ask for."""
        return await self.answer(await self.requests.read(index, parameters), share)

    async def answer(self, asked: LookupRequest, share: Share | None = None) -> LookupPage:
        """The page of a lookup that has been understood."""
        share = share or Share(CallBudget(), asked.options.page_size)
        asked = await self.prepared(asked, afresh=share.reads_afresh)
        page = await self._read_certain(asked, share)
        entries = [each.entry.entry for each in page.taken]
        if asked.options.expands_fact:
            page, entries = await self._expanded(asked, page, share)
        self.note_answer(asked.generation.index.name, page.rows_read, len(entries))
        token = self.requests.token(asked, page.end) if page.has_more else None
        owed = self.generations.owed_since(asked.generation.id)
        behind = {account: since for account, since in owed.items() if account in asked.plan.accounts}
        return LookupPage(
            entries,
            None if token is None else next_page_parameters(asked.parameters, token),
            _etag(asked, page) if share.is_alone and not (asked.options.expands_fact or behind) else None,
            page.is_secondary,
            behind,
        )

    async def explain(self, index: str, parameters: Mapping[str, str]) -> ExplanationJson:
        """How that lookup would run; a lookup that would need a scan is explained as refused."""
        generation = await self.generations.serving(index)
        try:
            asked = await self.requests.read(index, parameters)
        except BadLookupError as error:
            if any(each.code not in REFUSALS for each in error.faults):
                raise
            return explain_refusal(generation, error)
        return explain_plan(asked.generation, (await self._in_periods(asked, afresh=False)).plan, asked.options)

    async def prepared(self, asked: LookupRequest, *, afresh: bool = False) -> LookupRequest:
        """The request with every period to read, after the change that it must see is there."""
        # A page that goes on need not wait: the first one did.
        if asked.after is None:
            await self.wait_for(asked.generation, asked.options)
        return await self._in_periods(asked, afresh=afresh or asked.options.seen is not None)

    async def wait_for(self, generation: ReadableGeneration, options: Options) -> None:
        """Wait for the change that these options name, if they name one."""
        if options.seen is not None and self._own_writes is not None:
            await self._own_writes.wait(options.seen, generation)

    def note_answer(self, index: str, rows_read: int, entries: int) -> None:
        """Count an answer."""
        if self._answered is not None:
            self._answered(index, rows_read, entries)

    def rows_of(
        self, asked: LookupRequest, allowance: Allowance, select: Sequence[str] = ()
    ) -> MergedRows | MergedGroups:
        """The rows that a request asks for, in order; of a summary, a row for each group."""
        table, layout, run_all = asked.generation.table, asked.generation.layout, self._new_run_all
        if layout is None:
            return MergedRows(self._replicas_of, table, asked.plan, asked.after, allowance, run_all, select)
        rows = MergedRows(
            self._replicas_of, table, asked.plan, asked.after, allowance, run_all, select, entries_of=total_rows
        )
        return MergedGroups(rows, self._replicas_of, table, asked.plan, layout, is_keys_only=bool(select))

    async def _read(self, asked: LookupRequest, share: Share) -> RowPage:
        options, size = asked.options, min(asked.options.page_size, share.page_size_max)
        if options.filter is None:
            for_page = Allowance.for_page if asked.generation.layout is None else Allowance.for_groups
            allowance, holds = for_page(size, asked.plan.reads), None
        else:
            allowance = Allowance.for_filter(size, asked.plan.reads, FILTERED_ROWS_MAX)
            holds = compile_filter(options.filter, share.budget.steps)
        select = None if options.select is None else compile_paths(options.select)
        judge = EntryReader(asked.generation, asked.plan, select, holds)
        now_seconds = self.time_of(asked.generation)
        notes_hidden = bool(asked.plan.starts)
        rows = self.rows_of(asked, allowance)
        return await PageReader(
            rows, judge, size, share.budget, now_seconds, notes_hidden=notes_hidden, is_alone=share.is_alone
        ).read(asked.after)

    async def _read_certain(self, asked: LookupRequest, share: Share) -> RowPage:
        """A page that misses nothing. What is hidden for the first time may have moved to a table that was read too
        early, or that is younger than the list of them: read again. What moves even then ends the page before it."""
        if not asked.plan.starts:  # without tables per period nothing moves from one table to another
            return await self._read(asked, share)
        rows_read = 0
        for is_again in (False, *[True] * _READS_AGAIN_MAX):
            began_at = self.tombstones.moment()
            page = await self._read(asked, share)
            rows_read += page.rows_read
            new = self.tombstones.unknown_at(began_at, [row for _, row in page.hidden])
            certain = page if not new else page.before(new, key_order(asked.plan)) if is_again else None
            share.budget.give_back(page.taken if certain is None else page.taken[len(certain.taken) :])
            if certain is not None:
                return replace(certain, rows_read=rows_read)
            asked = await self._in_periods(asked, afresh=True)
        raise StorageUnavailableError(
            "The first entries of this page move between periods all the time: try again.", outcome_unknown=False
        )

    async def _in_periods(self, asked: LookupRequest, *, afresh: bool) -> LookupRequest:
        """With every period to read, after the change that must be seen is there: it may have made a table."""
        keys = asked.generation.keys
        periods = keys.shards.periods
        if periods is None or asked.plan.is_empty:
            return asked
        now_seconds = self.time_of(asked.generation) or 0.0
        accounts = frozenset(asked.plan.accounts)
        starts = await self._periods.of(asked.generation, accounts, periods, now_seconds, afresh=afresh)
        return replace(asked, plan=in_periods(asked.plan, keys, starts))

    def time_of(self, generation: ReadableGeneration) -> float | None:
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

    async def _expanded(self, asked: LookupRequest, page: RowPage, share: Share) -> tuple[RowPage, list[FoundEntry]]:
        """The page as far as its facts fit into the answer, and its entries with them."""
        assert self._facts is not None
        expander = Expander(asked.generation, self._facts, share.read_ahead)
        reads = [each.entry.read for each in page.taken]
        facts = await expander.facts_of(reads, share.budget.takes_fact)
        if len(facts) < len(page.taken):
            share.budget.give_back(page.taken[len(facts) :])
            page = page.cut_after(len(facts), asked.after)
        pairs = zip(page.taken, facts, strict=True)
        return page, [{**each.entry.entry, "fact": fact} for each, fact in pairs if fact is not None]


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
        known=tuple(definitions.indexes),
    )


def _etag(asked: LookupRequest, page: RowPage) -> str:
    """A digest of the page. Of whole rows, though their keys hold the versions: a repair writes what is right where
    something wrong stood."""
    end = page.end if page.has_more else None
    digest = sha256(repr((asked.generation.id, sorted(asked.parameters.items()), end)).encode())
    # Columns are texts, numbers and switches: JSON as they are.
    digest.update(orjson.dumps([each.entry.read.row.entity for each in page.taken], option=orjson.OPT_SORT_KEYS))
    return f'"{digest.hexdigest()[:32]}"'
