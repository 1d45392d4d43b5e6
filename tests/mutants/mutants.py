"""The list of mutants. New code of the protocol adds to it.

A mutant replaces a piece of one file that occurs there exactly once; a test holds that. The tests named with it are
the fast ones that kill it.
"""

from __future__ import annotations

from typing import NamedTuple

_LINES = "tests/rooms/pipeline/test_protocol_lines.py"


class Mutant(NamedTuple):
    """A file, a piece of it, what stands there instead, and the tests that notice."""

    name: str
    file: str
    old: str
    new: str
    tests: str = _LINES


MUTANTS = (
    Mutant(
        "finished under another ETag than the claimed one",
        "shared/pipeline/ledger/cache.py",
        "if known is not None and known.etag == etag:",
        "if known is not None:",
    ),
    Mutant(
        "a lost claim stays in the cache",
        "shared/pipeline/apply/claim_batch.py",
        """                self._cache.forget(work.key)
                if work.fact not in result.failures:""",
        """                if work.fact not in result.failures:""",
    ),
    Mutant(
        "errors of the sweep announcement are ignored",
        "shared/pipeline/apply/batch.py",
        "return {fact: errors[0] for fact, _ in [*early_removals, *removals]} if errors else {}",
        "return {}",
    ),
    Mutant(
        "a newer row that a listing found is written over",
        "shared/pipeline/entry_writes/entry_writer.py",
        "any(row.version > wanted.version or _is_wanted(row, wanted) for row in rows)",
        "any(_is_wanted(row, wanted) for row in rows)",
    ),
    Mutant(
        "a tombstone is taken for the live row",
        "shared/pipeline/entry_writes/entry_writer.py",
        "return row.version == wanted.version and row.is_tombstone == wanted.is_tombstone",
        "return row.version == wanted.version",
    ),
    Mutant(
        "generations that are written count as still finished",
        "shared/pipeline/apply/decide.py",
        "self._known.finished - touched,",
        "self._known.finished,",
    ),
    Mutant(
        "an older change brings its ETag into the ledger row",
        "shared/pipeline/apply/decide.py",
        "return LedgerRow(states, old.source_etag, old.deleted_at_seconds,",
        "return LedgerRow(states, self._change.source_etag, old.deleted_at_seconds,",
    ),
    Mutant(
        "a fact that comes back keeps the time of its deletion",
        "shared/pipeline/apply/decide.py",
        "return LedgerRow(states, self._change.source_etag, None, _if_empty(states, expired_at))",
        "return LedgerRow(states, self._change.source_etag, old.deleted_at_seconds, _if_empty(states, expired_at))",
    ),
    Mutant(
        "rows are swept without their ETags",
        "shared/pipeline/cleanup/sweeper.py",
        "[Delete(place.partition, row.row_key, row.etag) for row in group]",
        "[Delete(place.partition, row.row_key) for row in group]",
    ),
    Mutant(
        "retention ignores entries that are there",
        "shared/pipeline/ledger/retention.py",
        "return has_ended and all(_is_over(generation, entries, limit_seconds) for generation, entries in current)",
        "return has_ended",
    ),
    Mutant(
        "retention does not count unknown generations",
        "shared/pipeline/ledger/retention.py",
        "return generation is not None and all(",
        "return generation is None or all(",
    ),
    Mutant(
        "the last step of expiry ignores other entries",
        "shared/pipeline/cleanup/expiry.py",
        "is_last = row.deleted_at_seconds is None and not any(other.current for other in states.values())",
        "is_last = row.deleted_at_seconds is None",
    ),
    Mutant(
        "a switch does not write the row of the generation that it switches to",
        "shared/lifecycle/generations.py",
        "rows = [replace(target, unwanted_at=None), replace(old, unwanted_at=int(now_seconds))]",
        "rows = [replace(old, unwanted_at=int(now_seconds))]",
        "tests/rooms/lifecycle/test_lifecycle.py",
    ),
    Mutant(
        "a reader does not look again after an empty page",
        "shared/lookup/read.py",
        "if not passed_over.newest:",
        "if True:",
        "tests/unit/lookup/test_lookup_reading.py",
    ),
    Mutant(
        "a lookup trusts tombstones that it sees for the first time",
        "shared/lookup/tombstones.py",
        "self._seen_at.setdefault(row, self._moment) > moment",
        "self._seen_at.setdefault(row, self._moment) > self._moment",
        "tests/rooms/lookup/test_period_lookups.py",
    ),
    Mutant(
        "a page does not end before an entry that keeps moving",
        "shared/lookup/lookups.py",
        "certain = page if not new else page.before(new) if is_again else None",
        "certain = page if not new or is_again else None",
        "tests/rooms/lookup/test_period_lookups.py",
    ),
    Mutant(
        "an empty ledger is believed",
        "shared/catalog/register.py",
        "return {name for name in empty if not await self._has_moved_on(sources[name])}",
        "return empty",
        "tests/rooms/catalog/test_catalog.py",
    ),
    Mutant(
        "removals are written though live rows failed",
        "shared/pipeline/apply/batch.py",
        "standing = [work for work in claimed if work.fact not in live_rows.failures]",
        "standing = list(claimed)",
    ),
    Mutant(
        "the older of two changes of a batch is applied",
        "shared/pipeline/apply/batch.py",
        "if other is None or other.version <= change.version:",
        "if other is None or other.version > change.version:",
    ),
    Mutant(
        "the reason of a dead letter is stored as it is",
        "shared/pipeline/dead_letters/rows.py",
        '.encode("utf-8", "replace").decode("utf-8"),',
        ",",
        "tests/rooms/pipeline/test_odd_dead_letters.py",
    ),
)
