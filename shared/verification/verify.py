"""Verification of one generation, page by page, with everything it knows in a state that another process can take over.

    sum       read facts, ledger and table once, adding every entry on one side and subtracting it on the other
    look      only when something differs: read them again, and suspect the facts that may be wrong
    confirm   examine every suspect twice, with a pause: what is still wrong then is a difference; with a repairer it is
              repaired
    told      of a source whose facts come as events: compare those that its hub still has with the ledger

Changes that are applied meanwhile make facts differ between the scans; their examination clears them. The end of a
period does so to all its facts: then everything is summed up again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from shared.pipeline.cleanup.messages import Tombstone, to_messages
from shared.verification.differences import Difference
from shared.verification.examine import GroupAddress
from shared.verification.report import MORE_COUNTS, UNTOLD, DifferenceReport
from shared.verification.retained_events import ToldFacts
from shared.verification.scans import DEAD_LETTERS, FACTS, TABLE
from shared.verification.sketch import Sketch
from shared.verification.suspects import Suspects

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from shared.entries.projection.generations import Place
    from shared.pipeline.cleanup.messages import SweepQueue, Swept
    from shared.verification.confirm import Confirmer
    from shared.verification.retained_events import RetainedEvents
    from shared.verification.scans import Cursor, Item, Scan, StrayRow
    from shared.verification.totals import TotalsConfirmer

ScanPhase = Literal["sum", "look", "told", "done"]
# So many suspects are kept until they are examined together.
SUSPECTS_MAX: Final = 200
_USELESS: Final = frozenset({"masked", "tombstones"})


@dataclass(slots=True)
class ScanState:
    """How far a verification has come."""

    phase: ScanPhase = "sum"
    scan: int = 0
    cursor: Cursor = None
    report: DifferenceReport = field(default_factory=DifferenceReport)
    suspects: Suspects = field(default_factory=Suspects)
    # Groups of a summary whose totals may be wrong.
    groups: set[GroupAddress] = field(default_factory=set)
    sketch: Sketch = field(default_factory=Sketch)
    # The first period that was not over when the sum began, and whether it began anew since.
    open_from: str | None = None
    is_second_sum: bool = False
    # What the events of a hub have told so far.
    facts_told: ToldFacts = field(default_factory=ToldFacts)

    def plain(self) -> dict[str, Any]:
        """As JSON, without the sketch."""
        plain: dict[str, Any] = {
            "phase": self.phase,
            "scan": self.scan,
            "cursor": self.cursor,
            "report": self.report.plain(),
            "suspects": self.suspects.plain(),
            "openFrom": self.open_from,
            "isSecondSum": self.is_second_sum,
        }
        # As an earlier release wrote it, where there is nothing to add.
        plain |= {"groups": sorted(map(list, self.groups))} if self.groups else {}
        return plain | ({"factsTold": self.facts_told.plain()} if self.phase == "told" else {})

    @classmethod
    def of_plain(cls, plain: dict[str, Any], sketch: bytes) -> ScanState:
        """The state that `plain` and the sketch's own state gave."""
        report, suspects = DifferenceReport.of_plain(plain["report"]), Suspects.of_plain(plain["suspects"])
        periods = plain.get("openFrom"), plain.get("isSecondSum", False)
        groups = {GroupAddress(*group) for group in plain.get("groups", ())}
        told = ToldFacts.of_plain(plain["factsTold"]) if "factsTold" in plain else ToldFacts()
        cursor = plain["cursor"]
        return cls(plain["phase"], plain["scan"], cursor, report, suspects, groups, Sketch(sketch), *periods, told)


@dataclass(frozen=True, slots=True)
class Cleaning:
    """How tombstones are swept that are older than any sweep message can be; with `remove_stray`, what a repair does
    with stray rows."""

    queue: SweepQueue
    place_of: Callable[[str], Place]
    is_forgotten: Callable[[str], bool]
    remove_stray: Callable[[StrayRow], Awaitable[None]] | None = None


class Verification:
    """A verification that goes on page by page. `oldest_open` says which periods are over now."""

    def __init__(
        self,
        scans: Sequence[Scan],
        confirmer: Confirmer,
        state: ScanState,
        cleaning: Cleaning,
        oldest_open: Callable[[], str] = str,
        totals: TotalsConfirmer | None = None,
        events: RetainedEvents | None = None,
    ) -> None:
        self._events = events
        self._totals = totals
        self._oldest_open = oldest_open
        self._scans = scans
        self._confirmer = confirmer
        self.state = state
        self._cleaning = cleaning

    @property
    def is_done(self) -> bool:
        """Whether everything has been read and confirmed."""
        return self.state.phase == "done"

    async def step(self) -> None:
        """One page of one scan; at the end of all of them, what follows."""
        state = self.state
        if state.phase == "told":
            await self._compare_events()
            return
        if state.open_from is None:
            state.open_from = self._oldest_open()
        scan = self._scans[state.scan]
        page = await scan.page(state.cursor)
        if state.phase == "sum":
            await self._sum(scan, page.items)
        else:
            self._look(scan, page.items)
        if len(state.suspects) >= SUSPECTS_MAX:
            await self._confirmer.confirm_and_repair(state.suspects.take(), state.report)
        if len(state.groups) >= SUSPECTS_MAX:
            await self._confirm_totals()
        state.cursor = page.cursor
        if page.cursor is None:
            state.scan += 1
            if state.scan == len(self._scans):
                await self._next_phase()

    async def _next_phase(self) -> None:
        state = self.state
        state.scan = 0
        if state.phase == "sum" and not state.sketch.is_zero():
            if not state.is_second_sum and self._oldest_open() != state.open_from:
                self._sum_again()
            else:
                state.phase = "look"
                # Each fact again, here or as a suspect: never as both.
                state.report.counts[DEAD_LETTERS] = 0
            return
        await self._confirmer.confirm_and_repair(state.suspects.take(), state.report)
        await self._confirm_totals()
        state.phase = "done" if self._events is None else "told"

    async def _compare_events(self) -> None:
        state = self.state
        assert self._events is not None
        state.cursor = await self._events.compare_page(state.cursor, state.facts_told, state.report)
        if state.cursor is None:
            state.report.counts[UNTOLD] = max(0, state.report.counts["ledgerRows"] - state.facts_told.told.count())
            state.phase = "done"

    async def _confirm_totals(self) -> None:
        """After the contributions of these groups: their repair changes totals by what they change."""
        groups, self.state.groups = sorted(self.state.groups), set()
        if self._totals is not None and groups:
            await self._totals.confirm_and_repair(groups, self.state.report)

    def _sum_again(self) -> None:
        """From the beginning, once. What was repaired stays counted, what was read is not counted twice."""
        state, old = self.state, self.state.report
        counts = Counter({name: old.counts[name] for name in MORE_COUNTS if name != DEAD_LETTERS})
        state.report = (
            DifferenceReport(counts)
            if self._cleaning.remove_stray is None
            else DifferenceReport(counts, old.differences, old.examples)
        )
        state.sketch, state.open_from, state.is_second_sum = Sketch(), None, True

    async def _sum(self, scan: Scan, items: Sequence[Item]) -> None:
        state = self.state
        for item in items:
            for entry in item.adds:
                state.sketch.add(item.fact_hash, entry)
            for entry in item.subtracts:
                state.sketch.subtract(item.fact_hash, entry)
            state.report.counts.update(item.counts)
            if item.stray is not None:
                await self._note_stray(item, item.stray)
        if scan.name == TABLE:
            await self._clean(self._cleaning, items)

    def _look(self, scan: Scan, items: Sequence[Item]) -> None:
        for item in items:
            # A fact that has no entries any more matters, a row that has none does not.
            matters = scan.name == FACTS or item.adds or item.subtracts
            if not matters or not self.state.sketch.differs(item.fact_hash):
                self.state.report.counts[DEAD_LETTERS] += DEAD_LETTERS in item.counts
                continue
            if item.group is not None:
                self.state.groups.add(item.group)
            else:
                self.state.suspects.add(item.fact, scan.name, item.address)

    async def _note_stray(self, item: Item, stray: StrayRow) -> None:
        """A row that certainly belongs to no fact: there is nothing to examine."""
        if "entries" in item.counts:
            self.state.report.note(item.fact, Difference("ghost", item.address, item.version))
        if self._cleaning.remove_stray is not None:
            await self._cleaning.remove_stray(stray)
            self.state.report.counts["repaired"] += 1

    async def _clean(self, cleaning: Cleaning, items: Sequence[Item]) -> None:
        """Rows without use: tombstones go to the sweep as always; a repair examines hidden rows with their fact."""
        own = [item for item in items if item.stray is None and not _USELESS.isdisjoint(item.counts)]
        old = [item for item in own if item.address is not None and cleaning.is_forgotten(item.version)]
        for item in old:
            if "masked" in item.counts and cleaning.remove_stray is not None:
                self.state.suspects.add(item.fact, TABLE, item.address)
        tombstones: list[Swept] = [
            item.gone or Tombstone(cleaning.place_of(item.address[0]), item.address[1], item.version)
            for item in old
            if item.address is not None and "tombstones" in item.counts
        ]
        for message in to_messages(tombstones):
            await cleaning.queue.send(message)
        self.state.report.counts["swept"] += len(tombstones)
