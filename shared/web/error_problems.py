"""Errors of the product as problems on HTTP: the one place that gives each of them a status and a code."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from shared import errors
from shared.inputs.faults import TITLES
from shared.web.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.web.problems import ProblemErrorJson

_log = logging.getLogger(__name__)


class ProblemKind(NamedTuple):
    """How a kind of error is answered."""

    status: int
    code: str
    title: str
    retry_after_seconds: int | None = None


# The first that fits counts: special kinds stand before general ones.
KINDS: Final[Mapping[type[errors.IndexTablesError], ProblemKind]] = {
    errors.NotSignedInError: ProblemKind(401, "NotSignedIn", "The caller is not known"),
    errors.ForbiddenError: ProblemKind(403, "Forbidden", "The caller may not do this"),
    errors.UnknownIndexError: ProblemKind(404, "IndexNotFound", "There is no such index"),
    errors.UnknownDeadLetterError: ProblemKind(404, "DeadLetterNotFound", "There is no such dead letter"),
    errors.NotReplayableError: ProblemKind(409, "NotReplayable", "The dead letter cannot be replayed"),
    errors.ContinuationExpiredError: ProblemKind(
        410, "ContinuationExpired", "The page token continues on a retired table"
    ),
    errors.IndexBuildingError: ProblemKind(503, "IndexBuilding", "The index is still being built", 30),
    errors.NotSeenYetError: ProblemKind(503, "NotSeenYet", "The change has not reached the index in time", 1),
    errors.FactsUnavailableError: ProblemKind(503, "FactsUnavailable", "Facts cannot be fetched now", 5),
    errors.FactsRefusedError: ProblemKind(503, "FactsUnavailable", "Facts cannot be fetched"),
    errors.ThrottledError: ProblemKind(503, "StorageBusy", "The index storage is too busy", 5),
    errors.StorageUnavailableError: ProblemKind(503, "StorageUnreachable", "The index storage cannot be reached", 5),
    errors.IncompleteBatchError: ProblemKind(503, "StorageUnreachable", "The index storage cannot be reached", 5),
    errors.StorageUnreachableError: ProblemKind(503, "StorageUnreachable", "The index storage cannot be reached", 5),
    errors.RequestRefusedError: ProblemKind(503, "StorageUnreachable", "The index storage cannot be reached", 5),
    errors.SettingError: ProblemKind(503, "NotConfigured", "A setting of the app is missing or wrong"),
}
# What a build, switch or rollback is refused with, by its code.
REFUSALS: Final[Mapping[str, ProblemKind]] = {
    kind.code: kind
    for kind in (
        ProblemKind(400, "BadRequest", "The body cannot be read"),
        ProblemKind(400, "BadBudget", "The budget builds nothing"),
        ProblemKind(409, "AlreadyBuilding", "The index is being built"),
        ProblemKind(409, "NothingToBuild", "There is nothing to build"),
        ProblemKind(409, "CannotBuild", "The definition cannot be built"),
        ProblemKind(409, "NotBuilt", "The new generation is not built"),
        ProblemKind(409, "Incomplete", "The new generation lacks facts"),
        ProblemKind(409, "NotVerified", "The new generation is not verified"),
        ProblemKind(409, "AlreadyServing", "The definition already serves"),
        ProblemKind(409, "NothingToRollBack", "Nothing served before"),
        ProblemKind(409, "RollbackExpired", "What served before is retired, or lacks changes"),
        ProblemKind(409, "NothingToMove", "There is nothing to replace what serves"),
        ProblemKind(409, "TooEarly", "Not every worker writes to the new generation"),
        ProblemKind(400, "BadSample", "The sample cannot be taken"),
        ProblemKind(409, "AlreadyVerifying", "The index is being verified"),
        ProblemKind(409, "NothingToVerify", "There is nothing to verify"),
        ProblemKind(409, "CannotReconcile", "There is nothing to reconcile with"),
        ProblemKind(404, "NoSuchVerification", "There is no such verification"),
        ProblemKind(404, "NoSuchSource", "There is no such source"),
        ProblemKind(409, "NotDeleted", "The fact is not deleted"),
        ProblemKind(409, "StillOwed", "An account does not know yet that the fact is deleted"),
    )
}
DEFINITIONS_BROKEN: Final = ProblemKind(503, "DefinitionsBroken", "The definitions have faults")
_NOT_SIGNED_IN: Final = 401
INTERNAL: Final = ProblemKind(500, "InternalError", "Something went wrong inside")


def problem_for(error: Exception) -> Problem:
    """The problem that an error is to the caller. An unexpected error is logged; the answer says nothing about it."""
    if isinstance(error, errors.BadRequestError):
        return _bad_request(error)
    if isinstance(error, errors.DefinitionsError):
        return _broken_definitions(error)
    if isinstance(error, errors.LifecycleRefusedError):
        return _problem(REFUSALS[error.code], str(error))
    for kind in KINDS:
        if isinstance(error, kind):
            return _problem(KINDS[kind], str(error))
    _log.error("A request failed inside", exc_info=error)
    return _problem(INTERNAL, "The request failed inside the app; its log says why. Trying again may help.")


def _problem(kind: ProblemKind, detail: str) -> Problem:
    retry = {} if kind.retry_after_seconds is None else {"Retry-After": str(kind.retry_after_seconds)}
    sign_in = {"WWW-Authenticate": "Bearer"} if kind.status == _NOT_SIGNED_IN else {}
    return Problem(kind.status, kind.code, kind.title, detail, headers={**retry, **sign_in})


def _bad_request(error: errors.BadRequestError) -> Problem:
    """One fault is the problem itself; of several the first gives the code, and `errors` lists them all."""
    first = error.faults[0]
    several: tuple[ProblemErrorJson, ...] = tuple(
        {"code": fault.code, "parameter": fault.parameter, "detail": fault.detail} for fault in error.faults
    )
    suggested = error.suggestion if isinstance(error, errors.BadLookupError) else None
    listed = several if len(several) > 1 else ()
    return Problem(400, first.code, TITLES[first.code], str(error), errors=listed, suggestion=suggested)


def _broken_definitions(error: errors.DefinitionsError) -> Problem:
    return Problem(
        DEFINITIONS_BROKEN.status,
        DEFINITIONS_BROKEN.code,
        DEFINITIONS_BROKEN.title,
        f'Faults in the definitions file: {len(error.faults)}. Fix what "errors" lists and deploy again.',
        errors=tuple({"code": DEFINITIONS_BROKEN.code, "detail": fault} for fault in error.faults),
    )
