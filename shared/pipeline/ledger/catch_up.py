"""The changes that the ledger has and a generation, or an account that was down, does not have yet.

A fact is applied again at the version that the ledger holds, never at an invented one. A deleted fact needs no
document; for any other the document must be the one whose ETag the ledger has. If Cosmos DB has a newer document, the
live feed is about to bring it, also to the new generation.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from shared.entries.changes.change import Change, FactReader
from shared.entries.keys.fact_key import decode_fact_key, fact_hash
from shared.entries.keys.versions import clock_of, without_digest
from shared.errors import UnreadableChangeError
from shared.pipeline.concurrency import all_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import Source
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.ledger.scan import LedgerFact
    from shared.sources.ports import Facts


def lacks_newest_version(fact: LedgerFact, generation: str) -> bool:
    """Whether a generation does not have a fact, or has an older version of it than another generation."""
    version = fact.versions.get(generation)
    return bool(fact.versions) and (version is None or without_digest(version) < without_digest(newest_version(fact)))


def newest_version(fact: LedgerFact) -> str:
    """The version that the ledger holds."""
    return max(fact.versions.values())


class MissingFacts(NamedTuple):
    """Changes to apply, and how many facts cannot be found again."""

    changes: list[Change]
    unbuilt: int


class CatchUpReader:
    """Finds the changes that facts are behind with."""

    def __init__(self, source: Source, facts: Facts, run_all: RunAll) -> None:
        self._source = source
        self._facts = facts
        self._reader = FactReader(source)
        self._run_all = run_all

    async def read(self, behind: Sequence[LedgerFact]) -> MissingFacts:
        """The changes of these facts, as far as their documents can be found."""
        changes = [self._delete(fact) for fact in behind if fact.is_deleted]
        others = [fact for fact in behind if not fact.is_deleted]
        if self._source.cosmos is None:
            return MissingFacts(changes, len(others))
        found = await all_of(self._run_all, [partial(self._find_or_count, fact) for fact in others])
        changes += [change for missing in found for change in missing.changes]
        return MissingFacts(changes, sum(missing.unbuilt for missing in found))

    def _delete(self, fact: LedgerFact) -> Change:
        key = fact.fact_key
        return Change(self._source.name, "", (), key, fact_hash(key), newest_version(fact), None, {}, fact.source_etag)

    async def _find_or_count(self, fact: LedgerFact) -> MissingFacts:
        try:
            change = await self._find(fact)
        except UnreadableChangeError:
            return MissingFacts([], 1)
        return MissingFacts([] if change is None else [change], 0)

    async def _find(self, fact: LedgerFact) -> Change | None:
        """The change that the ledger has; None when it is gone, or when the feed is about to bring a newer one."""
        decoded = decode_fact_key(fact.fact_key)
        if decoded is None:
            raise self._reader.unreadable("its key was cut, so that its id is not known")
        partition_key, fact_id = decoded
        document = await self._facts.read(self._source, fact_id, partition_key)
        if document is None or document.get("_etag") != fact.source_etag:
            return None
        change = self._reader.change(fact_id, partition_key, clock_of(newest_version(fact)), document, fact.source_etag)
        return replace(change, version=newest_version(fact))
