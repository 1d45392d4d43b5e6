"""The list of mutants. New code of the protocol adds to it.

A mutant replaces a piece of one file that occurs there exactly once; a test holds that. The tests named with it are
the fast ones that kill it.
"""

from __future__ import annotations

from typing import NamedTuple

_FLOODS = "tests/rooms/pipeline/test_dead_letter_floods.py"
_LINES = "tests/rooms/pipeline/test_protocol_lines.py"
_RECORDED = "tests/rooms/pipeline/test_recorded_events.py"
_SHARED_HUBS = "tests/rooms/pipeline/test_shared_hubs.py"
_OUTAGES = "tests/rooms/pipeline/test_outages.py"
_SUMMARIES = "tests/rooms/pipeline/test_summaries.py tests/simulation/test_summaries.py"


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
        "return {fact: error for fact, _ in removals}",
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
        "self._known.finished - self._touched,",
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
        "retention takes a state that was left behind for the newest",
        "shared/pipeline/ledger/retention.py",
        "any(state.current and state.version == newest for state in kept)",
        "any(state.current for state in kept)",
        "tests/rooms/pipeline/test_periods.py",
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
        "a generation is retired whatever happened to its row",
        "shared/lifecycle/generations.py",
        'replace(generation, state="retired", retired_at=now)',
        'replace(generation, state="retired", retired_at=now, etag="*")',
        "tests/rooms/lifecycle/test_lifecycle.py",
    ),
    Mutant(
        "a reader does not look again after an empty page",
        "shared/lookup/reading/stretches.py",
        "if not passed_over.newest:",
        "if True:",
        "tests/unit/lookup/test_lookup_reading.py",
    ),
    Mutant(
        "a merged page does not wait for the range that was read least far",
        "shared/lookup/reading/merge.py",
        "horizon = min(ends) if ends else None",
        "horizon = max(ends) if ends else None",
        "tests/unit/lookup/test_several_values.py",
    ),
    Mutant(
        "a page passes over partitions that come after the one that the page before ended in",
        "shared/lookup/reading/merge.py",
        "begin = sort + CEILING if stream.partition < after.partition else sort",
        "begin = sort + CEILING",
        "tests/unit/lookup/test_several_values.py",
    ),
    Mutant(
        "a lookup trusts tombstones that it sees for the first time",
        "shared/lookup/reading/tombstones.py",
        "self._seen_at.setdefault(row, self._moment) > moment",
        "self._seen_at.setdefault(row, self._moment) > self._moment",
        "tests/rooms/lookup/test_period_lookups.py",
    ),
    Mutant(
        "a page does not end before an entry that keeps moving",
        "shared/lookup/lookups.py",
        "certain = page if not new else page.before(new, key_order(asked.plan)) if is_again else None",
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
        "standing = [work for work in claims.claimed if work.fact not in failed]",
        "standing = list(claims.claimed)",
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
        'character if character.isprintable() else "?"',
        "character",
        "tests/rooms/pipeline/test_odd_dead_letters.py",
    ),
    Mutant(
        "the dead letter of a fact that was forgotten meanwhile is closed",
        "shared/pipeline/dead_letters/due.py",
        "return version >= check.version",
        "return False",
        "tests/simulation/test_dead_letters.py",
    ),
    Mutant(
        "no timer closes outdated dead letters",
        "shared/pipeline/dead_letters/outdated.py",
        "return not await look(dead_letter.version) and",
        "return False and",
        "tests/simulation/test_dead_letters.py",
    ),
    Mutant(
        "the walk through dead letters closes those that are due",
        "shared/pipeline/dead_letters/due.py",
        "state.failed or not check.has_written(generation, version)",
        "check.has_written(generation, version)",
        "tests/simulation/test_dead_letters.py",
    ),
    Mutant(
        "a dead letter that storage refuses fails",
        "shared/pipeline/dead_letters/put.py",
        """        if put.is_smallest:
            raise error""",
        "        raise error",
        _FLOODS,
    ),
    Mutant(
        "a blob goes though its dead letter may still be written",
        "shared/pipeline/dead_letters/put.py",
        "return isinstance(error, StorageUnavailableError) and error.outcome_unknown",
        "return False",
        _FLOODS,
    ),
    Mutant(
        "a blob stays though its dead letter is not written",
        "shared/pipeline/dead_letters/put.py",
        "if not put.may_be_written:",
        "if put.is_outdated:",
        _FLOODS,
    ),
    Mutant(
        "the blob of a dead letter that is written again is deleted",
        "shared/pipeline/dead_letters/put.py",
        "if put.old is not None and put.old.entity.get(BLOB) != put.entity.get(BLOB):",
        "if put.old is not None:",
        _FLOODS,
    ),
    Mutant(
        "a dead letter is put over one of a newer version",
        "shared/pipeline/dead_letters/put.py",
        "return self.old is not None and version_of(self.old) > self.dead_letter.version",
        "return False",
        "tests/rooms/pipeline/test_dead_letter_documents.py",
    ),
    Mutant(
        "a dead letter beyond the limit that replaces one is not put",
        "shared/pipeline/dead_letters/put.py",
        "if put.old is not None or put.dead_letter.id not in beyond]",
        "if put.dead_letter.id not in beyond]",
        _FLOODS,
    ),
    Mutant(
        "a blob that was written a moment ago counts as one without use",
        "shared/pipeline/dead_letters/orphans.py",
        "if self._now_seconds() - blob.written_at_seconds < YOUNG_SECONDS or await",
        "if await",
        _FLOODS,
    ),
    Mutant(
        "the time of a change decides before its place in the log",
        "shared/entries/keys/versions.py",
        "clock[_TICKS_DIGITS:] + clock[:_TICKS_DIGITS]",
        "clock",
        _RECORDED,
    ),
    Mutant(
        "a snapshot without a place in the log is newer than every change",
        "shared/entries/changes/event_forms/debezium.py",
        'return 0 if source.get("connector") in _LOGGED else None',
        "return None",
        "tests/unit/entries/test_event_forms.py",
    ),
    Mutant(
        "an event of another source costs a batch of its own",
        "shared/pipeline/apply/worker.py",
        "if not intake.changes and not intake.unreadable:",
        "if False:",
        _SHARED_HUBS,
    ),
    Mutant(
        "what no source knows is ignored",
        "shared/entries/changes/hub_reader.py",
        "if len(outcomes) > 1 and any(map(_is_known, outcomes.values())):",
        "if len(outcomes) > 1:",
        _SHARED_HUBS,
    ),
    Mutant(
        "a delete that does not say its partition key is applied to another fact",
        "shared/entries/changes/event_forms/debezium.py",
        "        self._check_identified(row)\n",
        "",
        "tests/unit/entries/test_event_forms.py",
    ),
    Mutant(
        "a changed partition key leaves a fact behind",
        "shared/entries/changes/event_forms/debezium.py",
        "if old not in (None, MISSING, new):",
        "if False:",
        "tests/unit/entries/test_event_forms.py",
    ),
    Mutant(
        "all buckets of a batch compute in every turn of the event loop",
        "shared/pipeline/concurrency.py",
        "        async with self._one_after_another:",
        "        if self._is_due():",
        "tests/unit/pipeline/test_concurrency.py",
    ),
    Mutant(
        "a claim that freezes a share writes no debt",
        "shared/pipeline/apply/claim_batch.py",
        "return Claim(work.fact, work.entity, work.known.etag, debts)",
        "return Claim(work.fact, work.entity, work.known.etag)",
        _OUTAGES,
    ),
    Mutant(
        "what was claimed and not written is not owed",
        "shared/pipeline/apply/settle_debts.py",
        "if (work.fact, writes.account) in unwritten:",
        "if False:",
        _OUTAGES,
    ),
    Mutant(
        "a debt ends with the claim, before the writes",
        "shared/pipeline/apply/decide_share.py",
        "is_owed = task.share.owed is not None or task.is_delivery",
        "is_owed = False",
        _OUTAGES,
    ),
    Mutant(
        "debts are noted whatever happened to the ledger row",
        "shared/pipeline/apply/settle_debts.py",
        "Claim(work.fact, encode(row, *work.key), work.etag,",
        'Claim(work.fact, encode(row, *work.key), "*",',
        _OUTAGES,
    ),
    Mutant(
        "what failed in one account counts as finished",
        "shared/pipeline/apply/batch.py",
        "if writes.is_whole and (work.fact, writes.account) not in failures",
        "if writes.is_whole",
        _OUTAGES,
    ),
    Mutant(
        "a frozen share forgets what may be in its account",
        "shared/pipeline/apply/decide_share.py",
        'state = task.share.state or GenerationState("")',
        'state = GenerationState("")',
        _OUTAGES,
    ),
    Mutant(
        "what was removed in an account that failed is not carried",
        "shared/pipeline/apply/decide_share.py",
        "if state is not None and state.removed and not is_finished:",
        "if False:",
        _OUTAGES,
    ),
    Mutant(
        "retention forgets a fact that owes",
        "shared/pipeline/ledger/retention.py",
        "if any(state.owed for generation",
        "if any(False for generation",
        _OUTAGES,
    ),
    Mutant(
        "a delivery takes whatever document there is",
        "shared/pipeline/ledger/catch_up.py",
        'if document is None or document.get("_etag") != fact.source_etag:',
        "if document is None:",
        _OUTAGES,
    ),
    Mutant(
        "a frozen share forgets that it had failed",
        "shared/pipeline/apply/decide_share.py",
        "return ShareDecision(state, _owed(task, state.version, failed=state.failed))",
        "return ShareDecision(state, _owed(task, state.version, failed=False))",
        _OUTAGES,
    ),
    Mutant(
        "a delivery lifts a failure",
        "shared/pipeline/apply/decide.py",
        "projection = projection.failing(_KEPT_FAILURE)",
        "pass",
        _OUTAGES,
    ),
    Mutant(
        "code with a fault fails a version that owes",
        "shared/pipeline/apply/decide.py",
        "is_failed &= state.failed or not state.owed",
        "pass",
        _OUTAGES,
    ),
    Mutant(
        "nothing looks for the dead letter of a version that owes",
        "shared/pipeline/apply/decide.py",
        "has_failed = state.failed or is_failed",
        "has_failed = state.failed",
        _OUTAGES,
    ),
    Mutant(
        "code with a fault pays what failed in one account",
        "shared/pipeline/apply/settle_debts.py",
        "state.failed or (writes.is_whole and not share.failed)",
        "state.failed or writes.is_whole",
        _OUTAGES,
    ),
    Mutant(
        "a delivery moves a version in one account alone",
        "shared/pipeline/apply/decide.py",
        "if is_behind or share.account == account]",
        "if share.account == account]",
        _OUTAGES,
    ),
    Mutant(
        "an older version is applied where an account is behind it",
        "shared/pipeline/apply/decide.py",
        "if state is not None and state.version > self._change.version:",
        "if state is not None and state.version > self._change.version and not state.owed:",
        _OUTAGES,
    ),
    Mutant(
        "a debt that nothing owes is deleted blindly",
        "shared/pipeline/ledger/debts.py",
        "return Delete(partition, _row_key(self.account, self.fact_key), self.etag)",
        "return Delete(partition, _row_key(self.account, self.fact_key))",
        _OUTAGES,
    ),
    Mutant(
        "the document that a debt keeps is not renewed",
        "shared/pipeline/ledger/debts.py",
        "if account not in owed or copy or (",
        "if account not in owed or (",
        _OUTAGES,
    ),
    Mutant(
        "a redelivery to an account that is down owes nothing",
        "shared/pipeline/apply/decide_share.py",
        "if task.share.owed is None and not is_wanting and task.is_finished:",
        "if not is_wanting:",
        _OUTAGES,
    ),
    Mutant(
        "a fact that moves to an account that is down stays in the other",
        "shared/pipeline/apply/batch.py",
        "failed = _without_waiting(failures)",
        "failed = {fact: error for (fact, _), error in live_rows.failures.items()}",
        _OUTAGES,
    ),
    Mutant(
        "the main account may be taken for dead",
        "shared/pipeline/account_calls.py",
        "return account != DEFAULT_ACCOUNT and isinstance(error,",
        "return isinstance(error,",
        _OUTAGES,
    ),
    Mutant(
        "a total is written without its ETag",
        "shared/pipeline/summaries/judge.py",
        "    return Insert(row) if etag is None else Replace(row, etag)",
        '    return Insert(row) if etag is None else Replace(row, "*")',
        _SUMMARIES,
    ),
    Mutant(
        "a contribution is written at a lower version",
        "shared/pipeline/summaries/judge.py",
        "return seen.stored is None or seen.stored.at < wanted.at",
        "return seen.stored is None or seen.stored.at != wanted.at",
        _SUMMARIES,
    ),
    Mutant(
        "a contribution goes to the lane of its writer",
        "shared/pipeline/summaries/judge.py",
        "lane = lane_of(wanted.sort) if stored is None else stored.lane",
        "lane = lane_of(wanted.sort)",
        _SUMMARIES,
    ),
    Mutant(
        "nothing depends on an absent total",
        "shared/pipeline/summaries/judge.py",
        "if not after.facts and seen.etag is not None:",
        "if not after.facts:",
        _SUMMARIES,
    ),
    Mutant(
        "the old row is kept after a conflict",
        "shared/pipeline/summaries/partition_writer.py",
        "            self._cache.forget(self._place, writes[error.index].row_key)\n            raise",
        "            raise",
        _SUMMARIES,
    ),
    Mutant(
        "rows in doubt stay in the cache",
        "shared/pipeline/summaries/partition_writer.py",
        """            for write in writes:
                self._cache.forget(self._place, write.row_key)
            raise""",
        "            raise",
        _SUMMARIES,
    ),
    Mutant(
        "contributions that are gone are swept without their ETags",
        "shared/pipeline/summaries/sweeping.py",
        "[Delete(place.partition, each.row_key, each.etag) for each in left]",
        "[Delete(place.partition, each.row_key) for each in left]",
        _SUMMARIES,
    ),
    Mutant(
        "extremes that ran empty are taken for whole",
        "shared/entries/summaries/extremes.py",
        "return not self.values and not self.is_whole",
        "return False",
        "tests/property/entries/test_summaries.py tests/rooms/pipeline/test_summaries.py",
    ),
    Mutant(
        "contributions that are gone are not announced",
        "shared/pipeline/apply/batch.py",
        "claims.gone += [*first.gone, *second.gone]",
        "claims.gone += first.gone[:0]",
        _SUMMARIES,
    ),
    Mutant(
        "contributions that were not waited for count as written",
        "shared/pipeline/summaries/summary_writer.py",
        "failed = [each.fact for each in of_place if (place, each.fact) in unwritten]",
        "failed = [each.fact for each in of_place if not result.failures]",
        "tests/rooms/pipeline/test_summaries_in_outages.py",
    ),
    Mutant(
        "rows that were not waited for stay in the cache",
        "shared/pipeline/summaries/partition_writer.py",
        "except BaseException:",
        "except Exception:",
        "tests/rooms/pipeline/test_summaries_in_outages.py",
    ),
    Mutant(
        "the kind of a contribution's row is taken for a part of its fact key",
        "shared/verification/examine.py",
        "owner_of(entity, row_key.removeprefix(CONTRIBUTIONS), levels)",
        "owner_of(entity, row_key, levels)",
        "tests/rooms/verification/test_verification_of_summaries.py",
    ),
)
