"""What verifications need in one process, made when it is first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.app import lifecycle, runtime, settings

if TYPE_CHECKING:
    from shared.pipeline.apply.worker import Worker
    from shared.verification.service import VerificationService


def desk(worker: Worker) -> VerificationService:
    """Where verifications are asked for; raises `DefinitionsError`."""
    from shared.app.connections import TIMING
    from shared.catalog.catalog import Catalog
    from shared.verification.rows import VerificationRows
    from shared.verification.service import VerificationService

    tables = worker.accounts.main
    return VerificationService(
        runtime.definitions().require(),
        Catalog(tables),
        lifecycle.tasks(worker),
        VerificationRows(tables),
        TIMING.wall_seconds,
    )


async def do_routine() -> None:
    """Start the verifications that are due; called by a timer."""
    from shared.verification.service import VerificationSchedule

    routine = VerificationSchedule(
        settings.number(settings.VERIFY_SAMPLE),
        settings.number(settings.VERIFY_FULL_DAYS),
        settings.number(settings.VERIFY_BUDGET),
    )
    if routine.sample or routine.full_days:
        await desk(await runtime.worker()).do_routine(routine)
