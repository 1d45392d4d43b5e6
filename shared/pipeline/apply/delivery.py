"""Brings an account that answers again what it is owed: the facts that changed while it was down.

For each debt:
1. Read the ledger row. If it owes the account nothing (any more), delete the debt, if it has not changed meanwhile.
2. Get the document of the version that the ledger has. If the source has a newer one, the feed is about to bring it.
3. Apply it as any change, with a plan that delivers: claim, write, announce, and only then is the debt paid. A worker
   that is faster wins, and the next run looks again.

A run begins with few facts at a time and doubles while the account answers quickly, so that one that has just come back
is not flooded.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from shared.catalog.owed_accounts import OwedAccount
from shared.entries.changes.change import Change
from shared.entries.keys.fact_key import fact_hash
from shared.entries.rows.columns import read_fact
from shared.entries.rows.json_text import loads
from shared.errors import IndexTablesError, OperationFailedError
from shared.pipeline.concurrency import all_of
from shared.pipeline.ledger.cache import KnownRow, LedgerCache
from shared.pipeline.ledger.catch_up import CatchUpReader, newest_version
from shared.pipeline.ledger.debts import Debt, count_debts, debt_changes, debts_of, owed_accounts
from shared.pipeline.ledger.ledger_writes import Claim, write_claims
from shared.pipeline.ledger.rows import LEDGER_TABLE, bucket_partition, decode, encode
from shared.pipeline.ledger.scan import LedgerFact

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from shared.catalog.catalog import Catalog
    from shared.definitions.model import Definitions
    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.apply.services import Services
    from shared.sources.ports import Facts
    from shared.tables.port import Row

RUN_SECONDS: Final = 60.0
FACTS_MIN: Final = 16
FACTS_MAX: Final = 1000
# A page that took longer than this is not quick.
_QUICK_SECONDS: Final = 2.0

_log = logging.getLogger(__name__)


class Delivery:
    """Delivers to all accounts what they are owed. `plans` returns what every source writes to."""

    def __init__(
        self,
        definitions: Definitions,
        plans: Callable[[], Awaitable[Mapping[str, SourcePlan]]],
        services: Services,
        catalog: Catalog,
        facts: Facts,
        steady_seconds: Callable[[], float],
    ) -> None:
        self._definitions = definitions
        self._plans = plans
        self._services = services
        self._catalog = catalog
        self._facts = facts
        self._steady_seconds = steady_seconds
        self._runs = 0

    async def run(self, run_seconds: float = RUN_SECONDS) -> int:
        """Deliver for a while; return how many facts were brought. One account's error does not stop the others, and is
        raised in the end."""
        errors: list[Exception] = []
        delivered = 0
        plans = [plan for plan in (await self._plans()).values() if plan.may_owe]
        for plan in plans:
            for account, partitions in (await self._owed(plan)).items():
                if self._is_down(account):
                    continue
                walk = _Walk(plan, account, self._steady_seconds() + run_seconds)
                try:
                    await self._walk(walk, partitions)
                except IndexTablesError as error:
                    errors.append(error)
                delivered += walk.delivered
        if plans:
            await self._note_owed(plans)
        if errors:
            raise errors[0]
        return delivered

    async def _note_owed(self, plans: Iterable[SourcePlan]) -> None:
        """Let the catalog say what is owed still, for operators and lookups."""
        ledger = self._services.accounts.main
        found: dict[str, list[OwedAccount]] = {}
        for plan in plans:
            for account, partitions in (await self._owed(plan)).items():
                counting = [partial(count_debts, ledger, partition, account) for partition in partitions]
                found.setdefault(account, []).extend(await all_of(self._services.run_all, counting))
        counted = {account: _total(counts) for account, counts in found.items()}
        await self._catalog.note_owed({account: total for account, total in counted.items() if total.facts})
        for total in counted.values():
            _log.warning(
                "A storage account is owed entries",
                extra={"account": total.account, "facts": total.facts, "since_seconds": total.since_seconds},
            )

    def _is_down(self, account: str) -> bool:
        return account in self._services.calls([account]).down

    async def _owed(self, plan: SourcePlan) -> dict[str, list[str]]:
        """The accounts that are owed something, with the buckets where."""
        # Every run begins with another bucket: what cannot be delivered in one must not keep the others waiting.
        self._runs += 1
        partitions = [
            bucket_partition(plan.source, (bucket + self._runs) % plan.buckets) for bucket in range(plan.buckets)
        ]
        ledger = self._services.accounts.main
        found = await all_of(
            self._services.run_all, [partial(owed_accounts, ledger, partition) for partition in partitions]
        )
        owed: dict[str, list[str]] = {}
        for partition, accounts in zip(partitions, found, strict=True):
            for account in accounts:
                owed.setdefault(account, []).append(partition)
        return owed

    async def _walk(self, walk: _Walk, partitions: Iterable[str]) -> None:
        for partition in partitions:
            rows, continuation = debts_of(partition, walk.account), None
            is_over = False
            while not is_over and self._steady_seconds() < walk.ends_at:
                began = self._steady_seconds()
                # Debts never change their keys, so the continuations of the service are safe here.
                page = await self._services.accounts.main.query(
                    LEDGER_TABLE, rows, limit=walk.facts, continuation=continuation
                )
                await self._bring(walk, partition, page.rows)
                if self._is_down(walk.account):
                    return
                walk.note_seconds(self._steady_seconds() - began)
                continuation = page.continuation
                is_over = continuation is None
        if walk.delivered:
            _log.info(
                "Delivered what an account was owed",
                extra={"account": walk.account, "source": walk.plan.source, "facts": walk.delivered},
            )

    async def _bring(self, walk: _Walk, partition: str, rows: Sequence[Row]) -> None:
        """Bring the facts of one page of debts."""
        services, ledger = self._services, self._services.accounts.main
        debts = [Debt.of(row) for row in rows]
        found = await all_of(
            services.run_all, [partial(ledger.get, LEDGER_TABLE, partition, debt.fact_key) for debt in debts]
        )
        cache = LedgerCache()
        owing: list[tuple[Debt, LedgerFact]] = []
        for debt, row in zip(debts, found, strict=True):
            known = None if row is None else KnownRow(decode(row.entity), row.etag)
            if known is None or walk.account not in known.row.debts:
                await self._forget(partition, debt)
            elif known.row.debts[walk.account].keys() <= walk.plan.retired:
                await self._forget_retired(walk, (partition, debt.fact_key), known)
            elif row is not None:
                cache.put((partition, debt.fact_key), known)
                owing.append((debt, LedgerFact.of(row)))
        if changes := await self._changes(walk.plan, owing):
            plan = replace(walk.plan, delivers_to=walk.account, is_replay=True)
            outcome = await services.new_applier(cache).apply(plan, changes)
            walk.delivered += len(changes) - outcome.owing

    async def _changes(self, plan: SourcePlan, owing: Sequence[tuple[Debt, LedgerFact]]) -> list[Change]:
        """The changes that the ledger has, as far as their documents can be found."""
        kept = [_kept_change(plan.source, debt, fact) for debt, fact in owing]
        others = [fact for (_, fact), change in zip(owing, kept, strict=True) if change is None]
        reader = CatchUpReader(self._definitions.sources[plan.source], self._facts, self._services.run_all)
        return [*filter(None, kept), *(await reader.read(others)).changes]

    async def _forget(self, partition: str, debt: Debt) -> None:
        """Delete a debt that nothing owes, unless it was written again: then something owes it now."""
        try:
            await self._services.accounts.main.transact(LEDGER_TABLE, [debt.delete(partition)])
        except OperationFailedError:
            return

    async def _forget_retired(self, walk: _Walk, key: tuple[str, str], known: KnownRow) -> None:
        """Drop the states of retired generations, which owe what is gone with their tables, together with the debt."""
        states = {name: state for name, state in known.row.states.items() if name not in walk.plan.retired}
        row = replace(known.row, states=states)
        claim = Claim(key[1], encode(row, *key), known.etag, debt_changes(key, known.row, row, None))
        written = await write_claims(self._services.accounts.main, [claim], self._services.run_all)
        for error in written.failures.values():
            raise error


def _total(counts: Sequence[OwedAccount]) -> OwedAccount:
    return OwedAccount(
        counts[0].account,
        sum([count.facts for count in counts]),
        min([count.since_seconds for count in counts if count.facts], default=0),
        frozenset([generation for count in counts for generation in count.generations]),
        any(count.has_more for count in counts),
    )


class _Walk:
    """A walk through the debts of a source to one account."""

    def __init__(self, plan: SourcePlan, account: str, ends_at: float) -> None:
        self.plan = plan
        self.account = account
        self.ends_at = ends_at
        self.facts = FACTS_MIN
        self.delivered = 0

    def note_seconds(self, seconds: float) -> None:
        """Take more facts at a time while it is quick, and fewer when it is not."""
        self.facts = min(FACTS_MAX, 2 * self.facts) if seconds < _QUICK_SECONDS else max(FACTS_MIN, self.facts // 2)


def _kept_change(source: str, debt: Debt, fact: LedgerFact) -> Change | None:
    """The change that a debt keeps, if it is the one that the ledger has."""
    if not debt.copy or fact.is_deleted:
        return None
    kept: Any = loads(debt.copy.decode())
    if kept["version"] != newest_version(fact):
        return None
    fact_id, partition_key = read_fact(kept["fact"])
    return Change(
        source,
        fact_id,
        partition_key,
        fact.fact_key,
        fact_hash(fact.fact_key),
        kept["version"],
        kept["document"],
        kept["fact"],
    )
