"""The HTTP API of builds, switches and rollbacks, without the binding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, TypedDict, overload

from shared.catalog.rows import GenerationPhase
from shared.definitions import instants
from shared.definitions.answer_types import Count, InstantText, SchemaKeywords
from shared.inputs.bodies import NUMBER, SWITCH, read_members
from shared.inputs.parameters import no_parameters
from shared.tasks.rows import TaskState
from shared.web.answers import HttpAnswer, json_answer

if TYPE_CHECKING:
    from shared.catalog.rows import CatalogGeneration, ServingRow, VerifiedMark
    from shared.lifecycle.generations import GenerationLifecycle
    from shared.lifecycle.index_state import IndexState
    from shared.tasks.rows import Progress

_ACCEPTED: Final = 202
# Storage transactions per second; a build or verification with less does nothing.
TransactionBudget = Annotated[float, SchemaKeywords(minimum=1)]


class VerifiedJson(TypedDict):
    """When a generation was last verified as a whole, and how many differences there were."""

    at: InstantText
    differences: Count


class GenerationJson(TypedDict):
    """A generation. Null is what has not happened."""

    id: str
    state: GenerationPhase
    table: str
    enteredAt: InstantText
    buildsFrom: InstantText
    builtAt: InstantText | None
    unbuilt: Count
    verified: VerifiedJson | None
    unwantedSince: InstantText | None
    readOnlySince: InstantText | None


class BuildJson(TypedDict):
    """A build."""

    id: str
    state: TaskState
    startedAt: InstantText
    notBefore: InstantText
    endedAt: InstantText | None
    problem: str | None
    budget: TransactionBudget | None
    slices: Count
    slicesDone: Count
    counts: dict[str, Count]


class IndexStateJson(TypedDict):
    """How an index stands: the generation that serves, the one that the definition says, and its build."""

    index: str
    serving: GenerationJson | None
    defined: GenerationJson | None
    build: BuildJson | None


class ServingJson(TypedDict):
    """The generation that serves, since when, and the one that served before."""

    index: str
    serving: str
    before: str | None
    since: InstantText


class LifecycleApi:
    """Answers requests about the life of generations."""

    def __init__(self, lifecycle: GenerationLifecycle) -> None:
        self._lifecycle = lifecycle

    async def builds(self, index: str, url: str) -> HttpAnswer:
        """How an index stands: what serves, what its definition says, how the build goes."""
        no_parameters(url)
        return json_answer(index_state_json(await self._lifecycle.state(index)))

    async def build(self, index: str, body: bytes, url: str) -> HttpAnswer:
        """Start a build; `builds` shows its progress."""
        no_parameters(url)
        members = read_members(body, {"budget": NUMBER})
        await self._lifecycle.build(index, members.get("budget"))
        state = index_state_json(await self._lifecycle.state(index))
        answer = json_answer(state)
        return HttpAnswer(answer.body, _ACCEPTED)

    async def make_read_only(self, index: str, body: bytes, url: str) -> HttpAnswer:
        """Write no more to what serves, while its successor takes its place."""
        no_parameters(url)
        read_members(body, {})
        return json_answer(generation_json(await self._lifecycle.make_read_only(index)))

    async def switch(self, index: str, body: bytes, url: str) -> HttpAnswer:
        """Let the new generation serve."""
        no_parameters(url)
        members = read_members(body, {"force": SWITCH})
        return json_answer(serving_json(await self._lifecycle.switch(index, force=members.get("force", False))))

    async def rollback(self, index: str, body: bytes, url: str) -> HttpAnswer:
        """Let the generation serve that served before."""
        no_parameters(url)
        read_members(body, {})
        return json_answer(serving_json(await self._lifecycle.rollback(index)))


def index_state_json(state: IndexState) -> IndexStateJson:
    """How an index stands, as JSON."""
    return {
        "index": state.index,
        "serving": None if state.serving is None else generation_json(state.serving),
        "defined": None if state.target is None else generation_json(state.target),
        "build": None if state.build is None else build_json(state.build),
    }


def generation_json(generation: CatalogGeneration) -> GenerationJson:
    """A generation as JSON."""
    return {
        "id": generation.id,
        "state": generation.state,
        "table": generation.table,
        "enteredAt": instant_text(generation.entered_at),
        "buildsFrom": instant_text(generation.starts_at),
        "builtAt": instant_text(generation.built_at),
        "unbuilt": generation.unbuilt,
        "verified": None if generation.verified is None else _verified_json(generation.verified),
        "unwantedSince": instant_text(generation.unwanted_at),
        "readOnlySince": instant_text(generation.read_only_at),
    }


def _verified_json(verified: VerifiedMark) -> VerifiedJson:
    return {"at": instant_text(verified.at_seconds), "differences": verified.differences}


def build_json(progress: Progress) -> BuildJson:
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
        "slicesDone": sum(each.is_done for each in progress.slices),
        "counts": progress.counts,
    }


@overload
def instant_text(seconds: float) -> str: ...


@overload
def instant_text(seconds: float | None) -> str | None: ...


def instant_text(seconds: float | None) -> str | None:
    """A time as ISO 8601."""
    return None if seconds is None else instants.instant_text(seconds, utc="+00:00")


def serving_json(row: ServingRow) -> ServingJson:
    """What serves an index, as JSON."""
    return {
        "index": row.index,
        "serving": row.serving,
        "before": row.before or None,
        "since": instants.instant_text(row.since, "milliseconds", utc="+00:00"),
    }
