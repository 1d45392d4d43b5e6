"""The HTTP API of builds, switches and rollbacks, without the binding."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from shared.inputs.bodies import NUMBER, SWITCH, read_members
from shared.inputs.parameters import no_parameters
from shared.web.answers import HttpAnswer, json_answer

if TYPE_CHECKING:
    from shared.catalog.rows import CatalogGeneration, ServingRow
    from shared.lifecycle.generations import GenerationLifecycle, IndexState
    from shared.tasks.rows import Progress

_ACCEPTED: Final = 202


class LifecycleApi:
    """Answers requests about the life of generations."""

    def __init__(self, lifecycle: GenerationLifecycle) -> None:
        self._lifecycle = lifecycle

    async def builds(self, index: str, url: str) -> HttpAnswer:
        """How an index stands: what serves, what its definition says, how the build goes."""
        no_parameters(url)
        return json_answer(index_state_json(await self._lifecycle.state(index)))

    async def build(self, index: str, body: bytes, url: str) -> HttpAnswer:
        """Start a build; its progress is what `builds` tells."""
        no_parameters(url)
        asked = read_members(body, {"budget": NUMBER})
        await self._lifecycle.build(index, asked.get("budget"))
        state = index_state_json(await self._lifecycle.state(index))
        answer = json_answer(state)
        return HttpAnswer(answer.body, _ACCEPTED)

    async def make_read_only(self, index: str, body: bytes, url: str) -> HttpAnswer:
        """Write no more to what serves, while its successor takes its place."""
        no_parameters(url)
        read_members(body, {})
        return json_answer(generation(await self._lifecycle.make_read_only(index)))

    async def switch(self, index: str, body: bytes, url: str) -> HttpAnswer:
        """Let the new generation serve."""
        no_parameters(url)
        asked = read_members(body, {"force": SWITCH})
        return json_answer(serving_json(await self._lifecycle.switch(index, force=asked.get("force", False))))

    async def rollback(self, index: str, body: bytes, url: str) -> HttpAnswer:
        """Let the generation serve that served before."""
        no_parameters(url)
        read_members(body, {})
        return json_answer(serving_json(await self._lifecycle.rollback(index)))


def index_state_json(state: IndexState) -> dict[str, Any]:
    """How an index stands, as JSON."""
    return {
        "index": state.index,
        "serving": None if state.serving is None else generation(state.serving),
        "defined": None if state.target is None else generation(state.target),
        "build": None if state.build is None else build(state.build),
    }


def generation(one: CatalogGeneration) -> dict[str, Any]:
    """A generation as JSON."""
    verified = one.verified
    return {
        "id": one.id,
        "state": one.state,
        "table": one.table,
        "enteredAt": instant_text(one.entered_at),
        "buildsFrom": instant_text(one.starts_at),
        "builtAt": instant_text(one.built_at),
        "unbuilt": one.unbuilt,
        "verified": None
        if verified is None
        else {"at": instant_text(verified.at_seconds), "differences": verified.differences},
        "unwantedSince": instant_text(one.unwanted_at),
        "readOnlySince": instant_text(one.read_only_at),
    }


def build(progress: Progress) -> dict[str, Any]:
    """A build as JSON."""
    task = progress.task
    return {
        "id": task.id,
        "state": task.state,
        "startedAt": instant_text(task.started_at),
        "notBefore": instant_text(task.not_before),
        "endedAt": instant_text(task.ended_at),
        "problem": task.problem,
        "budget": task.about.get("budget"),
        "slices": len(progress.slices),
        "slicesDone": sum(one.is_done for one in progress.slices),
        "counts": progress.counts,
    }


def instant_text(seconds: float | None) -> str | None:
    """A time as ISO 8601."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def serving_json(row: ServingRow) -> dict[str, Any]:
    """What serves an index, as JSON."""
    return {
        "index": row.index,
        "serving": row.serving,
        "before": row.before or None,
        "since": datetime.fromtimestamp(row.since, UTC).isoformat(timespec="milliseconds"),
    }
