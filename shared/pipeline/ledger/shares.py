"""The shares of a fact in one generation: what its state says about each storage account.

Accounts answer or fail one by one, so everything is decided for a share: the entries of one account, as a state of its
own that may stand at an older version than the whole. Pure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from shared.pipeline.ledger.rows import GenerationState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shared.entries.projection.generations import Generation
    from shared.entries.projection.projector import Entry
    from shared.pipeline.ledger.rows import OwedShare


class ShareKey(NamedTuple):
    """A generation, by id, in one account."""

    generation: str
    account: str


class Share(NamedTuple):
    """What may be in an account (None: nothing ever was), whether it is owed, and the entries that it should have."""

    account: str
    state: GenerationState | None
    owed: OwedShare | None
    entries: tuple[Entry, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write now, and nothing that may be written."""
        has_rows = self.state is not None and bool(self.state.current or self.state.removed)
        return not self.entries and self.owed is None and not has_rows


def shares_of(generation: Generation, state: GenerationState | None, entries: Sequence[Entry]) -> list[Share]:
    """The shares of all accounts where the fact has or gets something; at least one, which may be empty."""
    accounts = generation.placed.accounts
    if len(accounts) == 1:
        return [_share(accounts[0], state, tuple(entries))]
    account_of = generation.account_of
    shares = [
        _share(
            account,
            None if state is None else _only(state, generation, account),
            tuple([entry for entry in entries if account_of(entry.partition_key) == account]),
        )
        for account in accounts
    ]
    return [share for share in shares if not share.is_empty] or shares[:1]


def accounts_of(generation: Generation, state: GenerationState) -> set[str]:
    """The accounts that have something of the fact, or may, and are owed nothing."""
    shares = shares_of(generation, state, ())
    return {share.account for share in shares if share.owed is None and not share.is_empty}


def merged(
    whole: GenerationState, shares: Iterable[GenerationState], order: Sequence[tuple[str, str]]
) -> GenerationState:
    """The state that `whole` begins, with the entries of all shares; entry keys that `order` lists in its order."""
    parts = list(shares)
    if len(parts) == 1:
        # Without `replace`, which takes longer than all else here: most generations have one share.
        (part,) = parts
        return GenerationState(whole.version, part.current, part.removed, whole.failed, whole.failed_before, whole.owed)
    rank = {key: number for number, key in reversed(list(enumerate(order)))}
    current = [entry for part in parts for entry in part.current]
    removed = [entry for part in parts for entry in part.removed]
    current.sort(key=lambda entry: rank.get((entry.partition, entry.entry_key), len(rank)))
    removed.sort(key=lambda entry: rank.get((entry.partition, entry.entry_key), len(rank)))
    return replace(whole, current=tuple(current), removed=tuple(removed))


def _share(account: str, state: GenerationState | None, entries: tuple[Entry, ...]) -> Share:
    owed = None if state is None else next((share for share in state.owed if share.account == account), None)
    if state is not None and owed is not None:
        state = replace(state, version=owed.version, failed=owed.failed)
    return Share(account, state, owed, entries)


def _only(state: GenerationState, generation: Generation, account: str) -> GenerationState:
    account_of = generation.account_of
    current = tuple([entry for entry in state.current if account_of(entry.partition) == account])
    removed = tuple([entry for entry in state.removed if account_of(entry.partition) == account])
    return replace(state, current=current, removed=removed)
