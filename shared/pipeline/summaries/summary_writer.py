"""Writes the contributions of many facts, partition by partition."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from shared.pipeline.summaries.lanes import Lanes
from shared.pipeline.summaries.partition_writer import PartitionWriter
from shared.pipeline.summaries.row_cache import RowCache
from shared.pipeline.summaries.sweeping import GoneContribution
from shared.tables.limits import OPERATIONS_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shared.entries.projection.generations import Place
    from shared.pipeline.account_calls import AccountCalls
    from shared.pipeline.entry_writes.transaction_buffer import WriteFailures
    from shared.pipeline.summaries.wanted import WantedContribution, WantedInPlace
    from shared.tables.accounts import Accounts


@dataclass(slots=True)
class WaveResult:
    """Facts that failed in an account, each with its error, and the rows that are gone and must be swept."""

    failures: WriteFailures = field(default_factory=dict)
    gone: list[GoneContribution] = field(default_factory=list)


@dataclass(slots=True)
class SummaryRows:
    """What a worker process remembers of summaries from batch to batch."""

    cache: RowCache = field(default_factory=RowCache)
    lanes: Lanes = field(default_factory=Lanes)


class SummaryWriter:
    """Writes contributions of one batch."""

    def __init__(self, accounts: Accounts, calls: AccountCalls, known: SummaryRows | None = None) -> None:
        self._accounts = accounts
        self._calls = calls
        self._known = SummaryRows() if known is None else known

    async def write(self, wanted: Iterable[WantedInPlace]) -> WaveResult:
        """Write one wave, every partition at the same time."""
        by_place: dict[Place, list[WantedInPlace]] = {}
        for each in wanted:
            by_place.setdefault(each.place, []).append(each)
        result = WaveResult()
        if not by_place:
            return result
        writers = {place: self._writer(of_place[0]) for place, of_place in by_place.items()}
        # What fails here is read again below, where the failure counts.
        to_read = [(place, each) for place, of_place in by_place.items() for each in _to_read(of_place)]
        await self._calls([(place.account, partial(writers[place].prepare, each)) for place, each in to_read])
        # Whoever does not come to be written has failed: by an error, or because the account was not waited for.
        unwritten = {(place, each.fact) for place, of_place in by_place.items() for each in of_place}
        answers = await self._calls(
            [
                (place.account, partial(self._write_place, writers[place], of_place, result.gone, unwritten))
                for place, of_place in by_place.items()
            ]
        )
        for (place, of_place), answer in zip(by_place.items(), answers, strict=True):
            if isinstance(answer, Exception):
                failed = [each.fact for each in of_place if (place, each.fact) in unwritten]
                result.failures |= {(fact, place.account): answer for fact in failed}
        return result

    def _writer(self, first: WantedInPlace) -> PartitionWriter:
        layout = first.generation.layout
        assert layout is not None
        tables = self._accounts.tables(first.place.account)
        return PartitionWriter(tables, first.place, layout, self._known.cache, self._known.lanes)

    async def _write_place(
        self,
        writer: PartitionWriter,
        of_place: Sequence[WantedInPlace],
        gone: list[GoneContribution],
        unwritten: set[tuple[Place, str]],
    ) -> None:
        """One transaction after the other: the totals of one are where the next begins. A failure ends them all."""
        place = of_place[0].place
        for transaction in _transactions(of_place):
            wanted = {contribution.row_key: contribution for contribution in transaction}
            for row_key, etag in (await writer.write(transaction)).items():
                gone.append(GoneContribution(place, row_key, wanted[row_key].at, etag))
            unwritten.difference_update([(place, contribution.fact) for contribution in transaction])


def _to_read(of_place: Iterable[WantedInPlace]) -> Iterable[WantedContribution]:
    """Contributions that are read at once before anything is written; a new one stands for its group."""
    found: dict[str, WantedContribution] = {}
    for contribution in chain.from_iterable(each.contributions for each in of_place):
        found.setdefault(contribution.sort if contribution.is_new else contribution.row_key, contribution)
    return found.values()


def _transactions(of_place: Sequence[WantedInPlace]) -> Iterator[list[WantedContribution]]:
    """As many facts together as a transaction takes rows, with those of one group side by side.

    The contributions of one fact stay together: a fact that moves within a partition is never counted twice there.
    """
    together: list[WantedContribution] = []
    groups: set[str] = set()
    for each in sorted(of_place, key=lambda wanted: wanted.contributions[0].sort):
        more = {contribution.sort for contribution in each.contributions}
        size = len(together) + len(each.contributions) + len(groups | more)
        if together and size > OPERATIONS_MAX:
            yield together
            together, groups = [], set()
        together = [*together, *each.contributions]
        groups |= more
    if together:
        yield together
