"""Later work: sweeping tombstones, slices of long tasks, and what timers start."""

from __future__ import annotations

import azure.functions as func

from shared.app.app import app
from shared.app.settings import HOST_STORAGE, SWEEP_QUEUE, TASK_QUEUE

maintenance = func.Blueprint()  # type: ignore[no-untyped-call]  # the SDK leaves it unannotated


@maintenance.queue_trigger(arg_name="message", queue_name=SWEEP_QUEUE, connection=HOST_STORAGE)
async def sweep(message: func.QueueMessage) -> None:
    """Remove the tombstones and expired entries that a message names, with all rows that they hide."""
    await (await app().parts_for_batch()).maintenance.sweep(message.get_body())


@maintenance.timer_trigger(arg_name="timer", schedule="0 23 * * * *")
async def retain(timer: func.TimerRequest) -> None:
    """Forget facts that were deleted long ago, a part of them every hour."""
    await (await app().triggers.ready()).maintenance.forget_deleted_facts()


@maintenance.timer_trigger(arg_name="timer", schedule="0 41 3 * * *")
async def purge_dead_letters(timer: func.TimerRequest) -> None:
    """Forget dead letters that are older than their retention, and documents that no dead letter has any more."""
    parts = await app().triggers.ready()
    await parts.dead_letters.purge_all()
    await parts.orphaned_blobs.remove()


@maintenance.timer_trigger(arg_name="timer", schedule="0 11 * * * *")
async def close_dead_letters(timer: func.TimerRequest) -> None:
    """Close dead letters that are outdated though no worker has noticed, a part of them every hour."""
    parts = await app().triggers.ready()
    await parts.outdated_dead_letters.close((await parts.write_plans.current()).values())


@maintenance.timer_trigger(arg_name="timer", schedule="0 * * * * *")
async def watch(timer: func.TimerRequest) -> None:
    """Measure how far behind every source is, also when nothing arrives."""
    await app().monitoring.status.watch()


@maintenance.timer_trigger(arg_name="timer", schedule="*/15 * * * * *")
async def deliver(timer: func.TimerRequest) -> None:
    """Bring storage accounts that were down what they are owed."""
    await app().deliver()


@maintenance.timer_trigger(arg_name="timer", schedule="0 */15 * * * *")
async def expire(timer: func.TimerRequest) -> None:
    """Find expired entries, some pages of their tables at a time; the sweep removes them later."""
    await (await app().triggers.ready()).maintenance.find_expired()


@maintenance.queue_trigger(arg_name="message", queue_name=TASK_QUEUE, connection=HOST_STORAGE)
async def tasks(message: func.QueueMessage) -> None:
    """Work on a slice of a long task, such as a build, for a while."""
    await (await app().triggers.ready()).tasks.run(message.get_body())


@maintenance.timer_trigger(arg_name="timer", schedule="45 * * * * *")
async def resume(timer: func.TimerRequest) -> None:
    """Continue long tasks whose worker is gone."""
    await (await app().triggers.ready()).tasks.resume()


@maintenance.timer_trigger(arg_name="timer", schedule="0 37 * * * *")
async def verify(timer: func.TimerRequest) -> None:
    """Verify some facts of every index, and from time to time all of them."""
    await app().start_due_verifications()


@maintenance.timer_trigger(arg_name="timer", schedule="0 */5 * * * *")
async def tidy(timer: func.TimerRequest) -> None:
    """Retire generations that have been unwanted for the grace period, and drop their tables."""
    parts = await app().triggers.ready()
    await parts.lifecycle.retire_unwanted(parts.services.accounts)
