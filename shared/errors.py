"""Every error that the product raises on purpose.

    IndexTablesError
    ├── SettingError                   a setting is missing or cannot be read
    ├── DefinitionsError               indexes.yaml has faults; carries all of them
    ├── UnreadableChangeError          a change that cannot be read: a dead letter for its whole source
    │   └── UnknownFormError               an event in another form than its source expects
    ├── IgnoredEventError              an event that is no change of a source, and none to complain about
    ├── UnprojectableError             a fact that cannot be projected: a dead letter for one index
    ├── UnknownDeadLetterError         there is no dead letter with that id, or it is gone
    ├── NotReplayableError             a dead letter whose change must not be applied any more, or cannot be
    ├── FactsNotWrittenError           facts could not all be written into their container
    ├── BadRequestError                a call cannot be answered as it was sent; carries all faults
    │   └── BadLookupError                 the same of a lookup
    ├── UnknownIndexError              there is no index of that name
    ├── NotSignedInError               a call without a caller, where callers must be known
    ├── ForbiddenError                 the caller may not do this
    ├── ContinuationExpiredError       a page token whose generation is retired
    ├── LifecycleRefusedError          a build, switch or rollback that cannot be done; carries its code
    ├── FactsRefusedError              Cosmos DB refuses to return facts, now and later
    ├── TaskFailedError                long work that failed, and that would fail again
    ├── StorageError                   a call to the Table service did not do what was asked
    │   ├── LimitError                     the call breaks a limit of the service and was not sent
    │   ├── RequestRefusedError            the service refuses the call, now and later
    │   ├── TableMissingError              the table is not there
    │   ├── OperationFailedError           one operation of a transaction failed, so none took effect
    │   └── StorageUnavailableError        (transient) no usable answer: down, out of time, connection lost
    │       ├── ThrottledError                 (transient) the service asks to be called less
    │       └── TableLeavingError              (transient) the table is still being deleted
    └── TransientError                 the same call may succeed later
        ├── StorageUnreachableError        storage does not answer, or not to this app
        ├── IncompleteBatchError           changes of a batch are neither applied nor dead letters
        ├── FactsUnavailableError          the facts of a source cannot be fetched now
        ├── FeedUnavailableError           a feed or hub cannot be asked how far behind it is
        ├── IndexBuildingError             the first generation of an index is still being built
        └── NotSeenYetError                a change has not reached the index in time

`local/process/errors.py` and `bench/errors.py` add their own branches. A message says what is wrong, with which thing,
and what to do about it. Code decides by type whether to retry, never by text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NotRequired, TypedDict

FailureReason = Literal["exists", "missing", "precondition"]
# Why a change is a dead letter, for programs; docs/troubleshooting.md says what to do about each kind.
FailureKind = Literal[
    "wrongType", "notEvaluable", "notJson", "tooManyEntries", "tooLarge", "ledgerRowTooLarge", "unreadable"
]


class IndexTablesError(Exception):
    """The root of the tree; its text is a whole sentence for the operator."""


class SettingError(IndexTablesError):
    """A setting is missing or cannot be read. Correct the app setting that is named in the message."""


class DefinitionsError(IndexTablesError):
    """The definitions file has faults. Fix every one that the message lists, then load it again."""

    def __init__(self, faults: tuple[str, ...]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class UnreadableChangeError(IndexTablesError):
    """A change cannot be read. Correct its sender or the source's definition, then replay the dead letter."""


class UnknownFormError(UnreadableChangeError):
    """An event is in another form than its source expects. It is ignored if another source of the hub knows it."""


class IgnoredEventError(IndexTablesError):
    """An event is no change of a source: it belongs to another one, or says nothing. It is counted, and no more."""


class UnprojectableError(IndexTablesError):
    """A fact does not fit an index. Correct the fact or the definition, then replay the dead letter."""

    def __init__(self, message: str, kind: FailureKind) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind


class UnknownDeadLetterError(IndexTablesError):
    """There is no such dead letter. A success may have closed it, or it was purged: list the existing ones."""


class NotReplayableError(IndexTablesError):
    """A dead letter cannot be replayed. Write the fact again, or purge the dead letter."""


class FactsNotWrittenError(IndexTablesError):
    """Facts could not all be written into their container. Writing them again is safe: it replaces them."""


class TransientError(IndexTablesError):
    """The same call may succeed later. Wait, then try again."""


class IncompleteBatchError(TransientError):
    """Some changes of a batch are neither applied nor dead letters. Deliver the batch again; see the reason in it."""


class StorageUnreachableError(TransientError):
    """Storage does not answer, or not to this app. Check the account, the network and the identity's roles."""


class FactsUnavailableError(TransientError):
    """The facts of a source cannot be fetched now. Wait, or look up without `expand=fact`."""


class FeedUnavailableError(TransientError):
    """A change feed or a hub cannot be asked. Its lag is unknown until the service answers again."""


class IndexBuildingError(TransientError):
    """The first generation of an index is still being built. Wait until its progress is complete."""

    def __init__(self, index: str, progress: str) -> None:
        super().__init__(f'Index "{index}" is still being built ({progress}); look it up when it serves.')


class NotSeenYetError(TransientError):
    """A change has not reached the index in time. Ask again, or look up without `sees`."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a call: a documented code, the parameter, what is wrong and what to do."""

    code: str
    parameter: str
    detail: str


class BadRequestError(IndexTablesError):
    """A call cannot be answered as it was sent. Fix every fault, then send it again."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(" ".join(fault.detail for fault in faults))
        self.faults = faults


class SuggestionJson(TypedDict):
    """What answers a lookup that was refused: another index with the parameters to ask it with, or a definition."""

    index: NotRequired[str]
    parameters: NotRequired[dict[str, str]]
    definition: NotRequired[str]


class BadLookupError(BadRequestError):
    """A lookup cannot be answered as it was asked. Fix every fault, then ask again, or do what is suggested."""

    suggestion: SuggestionJson | None = None


class UnknownIndexError(IndexTablesError):
    """There is no index of that name. Use one of those that `/api/indexes` lists."""


class NotSignedInError(IndexTablesError):
    """Callers must be known here, and this one is not. Send a token."""


class ForbiddenError(IndexTablesError):
    """The caller may not do this. Assign the role that is named, or ask for what is allowed."""


class ContinuationExpiredError(IndexTablesError):
    """The generation that a page token continues on is retired. Start again at the first page."""


class LifecycleRefusedError(IndexTablesError):
    """A generation cannot be built, switched to or rolled back to. Nothing was changed; do what the message says.

    `code` is listed in docs/errors.md.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class FactsRefusedError(IndexTablesError):
    """Facts cannot be fetched, and trying again would not help. Fix the definition, the role or the fact's id."""


class TaskFailedError(IndexTablesError):
    """Long work has failed, and trying again would not help. Fix the reason, then start it again."""


class StorageError(IndexTablesError):
    """A call to the Table service did not do what was asked."""


class LimitError(StorageError):
    """The call breaks a limit of the Table service; nothing was sent. Make it smaller or fix the name."""


class RequestRefusedError(StorageError):
    """The Table service refuses the call, now and later. Check the account, its key or role, and the call."""


class TableMissingError(StorageError):
    """The table is not there. Create it, or drop what refers to it."""


class OperationFailedError(StorageError):
    """One operation of a transaction failed, so no operation took effect.

    `resent` says that an earlier attempt of the same transaction got no answer and may have landed. Then
    "exists" or "precondition" may be caused by that attempt: read the row and compare it before you conclude that
    another worker wrote it.
    """

    def __init__(self, table: str, index: int, reason: FailureReason, *, resent: bool = False) -> None:
        doubt = "; an earlier attempt may have landed, so read the row before deciding" if resent else ""
        super().__init__(f"Operation {index} of a transaction on table {table} failed ({reason}){doubt}.")
        self.table = table
        self.index = index
        self.reason = reason
        self.resent = resent

    def after_resending(self) -> OperationFailedError:
        """The same failure, seen by a caller whose earlier attempt got no answer."""
        return OperationFailedError(self.table, self.index, self.reason, resent=True)


class StorageUnavailableError(StorageError, TransientError):
    """The Table service gave no usable answer. Wait, then try again.

    `outcome_unknown` says that a request may have taken effect, or may still take effect later.
    """

    def __init__(
        self,
        message: str,
        *,
        outcome_unknown: bool,
        attempts: int = 1,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.outcome_unknown = outcome_unknown
        self.attempts = attempts
        self.retry_after_seconds = retry_after_seconds


class ThrottledError(StorageUnavailableError):
    """The Table service asks to be called less. Wait `retry_after_seconds`, or send less at once."""


class TableLeavingError(StorageUnavailableError):
    """A table of this name is still being deleted. Wait a minute, then create it."""
