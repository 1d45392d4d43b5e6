"""The rest of a build: facts that the ledger knows in a newer version than the new generation, or only without it.

A fact is applied again at the version that the ledger holds, never at one of our own: a deleted one needs no document;
for any other the document must be the one that the ledger's mark names. If Cosmos DB has a newer one, the live feed is
about to bring it, to the new generation, too.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from shared.entries.changes.change import Change, FactReader
from shared.entries.keys.fact_key import decode_fact_key, fact_hash
from shared.entries.keys.versions import clock_of, without_digest
from shared.errors import UnreadableChangeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import Source
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.ledger.scan import LedgerFact
    from shared.sources.ports import Facts


def lacks_newest_version(kept: LedgerFact, generation: str) -> bool:
    """Whether a fact's part in a generation is missing, or older than another one."""
    version = kept.versions.get(generation)
    return bool(kept.versions) and (version is None or without_digest(version) < without_digest(_newest(kept)))


def _newest(kept: LedgerFact) -> str:
    """The version that the ledger holds."""
    return max(kept.versions.values())


class MissingFacts(NamedTuple):
    """Changes to apply, and how many facts nobody can find again."""

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
        deleted = [one for one in behind if one.is_deleted]
        changes = [self._delete(one) for one in deleted]
        others = [one for one in behind if not one.is_deleted]
        if self._source.cosmos is None:
            return MissingFacts(changes, len(others))
        unbuilt = 0
        for result in await self._run_all([partial(self._find, one) for one in others]):
            if isinstance(result, UnreadableChangeError):
                unbuilt += 1
            elif isinstance(result, Exception):
                raise result
            elif result is not None:
                changes.append(result)
        return MissingFacts(changes, unbuilt)

    def _delete(self, one: LedgerFact) -> Change:
        key = one.fact_key
        return Change(self._source.name, "", (), key, fact_hash(key), _newest(one), None, {}, one.source_etag)

    async def _find(self, one: LedgerFact) -> Change | None:
        """The change that the ledger has; None when it is gone, or when the feed is about to bring a newer one."""
        decoded = decode_fact_key(one.fact_key)
        if decoded is None:
            raise self._reader.unreadable("its key was cut, so that nobody can tell its id")
        partition_key, fact_id = decoded
        document = await self._facts.read(self._source, fact_id, partition_key)
        if document is None or document.get("_etag") != one.source_etag:
            return None
        change = self._reader.change(fact_id, partition_key, clock_of(_newest(one)), document, one.source_etag)
        return replace(change, version=_newest(one))
