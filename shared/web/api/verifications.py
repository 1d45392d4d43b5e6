"""The HTTP API of verifications, without the binding."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final, TypedDict
from urllib.parse import quote, urlsplit

from shared.definitions.answer_types import InstantText, SchemaKeywords
from shared.errors import LifecycleRefusedError
from shared.inputs.bodies import NUMBER, SWITCH, TEXT, WHOLE_NUMBER, read_members
from shared.inputs.faults import shown
from shared.inputs.parameters import no_parameters
from shared.tasks.rows import TaskState
from shared.verification.report_json import DifferenceReportJson
from shared.verification.sample import SAMPLE_MAX
from shared.web.answers import HttpAnswer, json_answer
from shared.web.api.lifecycle import TransactionBudget, instant_text

if TYPE_CHECKING:
    from shared.verification.service import VerificationResult, VerificationService

# Kind, generation and second of its start; its number when that second has several.
IDENTITY: Final = "verification-[0-9a-f]{16}-[0-9]{1,12}(-[0-9]{1,6})?"
_ACCEPTED: Final = 202
_MEMBERS: Final = {
    "generation": TEXT,
    "sample": WHOLE_NUMBER,
    "budget": NUMBER,
    "repair": SWITCH,
    "reconcile": SWITCH,
}


# How many facts a sample has.
SampleSize = Annotated[int, SchemaKeywords(minimum=1, maximum=SAMPLE_MAX)]


class _VerificationTaskJson(TypedDict):
    """What was asked for, and how it stands."""

    id: str
    index: str
    generation: str
    state: TaskState
    sample: SampleSize | None
    repair: bool
    reconcile: bool
    budget: TransactionBudget | None
    startedAt: InstantText
    endedAt: InstantText | None
    problem: str | None


class VerificationJson(_VerificationTaskJson, DifferenceReportJson):
    """A verification: what was asked for, how it stands, what it has found so far."""


class VerificationListJson(TypedDict):
    """The latest verifications of an index."""

    value: list[VerificationJson]


class VerificationApi:
    """Answers requests about verifications."""

    def __init__(self, service: VerificationService) -> None:
        self._service = service

    async def start(self, index: str, body: bytes, url: str) -> HttpAnswer:
        """Start a verification; `Location` says where its report will be."""
        no_parameters(url)
        members = read_members(body, _MEMBERS)
        found = await self._service.start(
            index,
            members.get("generation"),
            members.get("sample"),
            members.get("budget"),
            repairs=members.get("repair", False),
            reconciles=members.get("reconcile", False),
        )
        parts = urlsplit(url)
        path = f"/api/indexes/{quote(index, safe='')}/verifications/{quote(found.task.id, safe='')}"
        answer = json_answer(verification_json(found))
        return HttpAnswer(answer.body, _ACCEPTED, headers={"Location": f"{parts.scheme}://{parts.netloc}{path}"})

    async def verification(self, index: str, identity: str, url: str) -> HttpAnswer:
        """How a verification stands, and what it found."""
        no_parameters(url)
        # Other text in a path may not be a valid key of a table.
        if not re.fullmatch(IDENTITY, identity):
            raise LifecycleRefusedError(
                "NoSuchVerification", f'There is no verification {shown(identity)} of index "{index}".'
            )
        return json_answer(verification_json(await self._service.found(index, identity)))

    async def latest(self, index: str, url: str) -> HttpAnswer:
        """The latest verifications, newest first."""
        no_parameters(url)
        return json_answer(
            VerificationListJson(value=[verification_json(found) for found in await self._service.latest(index)])
        )


def verification_json(found: VerificationResult) -> VerificationJson:
    """A verification as JSON."""
    task, about = found.task, found.task.about
    return {
        "id": task.id,
        "index": about["index"],
        "generation": about["generation"],
        "state": task.state,
        "sample": about["sample"],
        "repair": about["repairs"],
        "reconcile": about["reconciles"],
        "budget": about["budget"],
        "startedAt": instant_text(task.started_at),
        "endedAt": instant_text(task.ended_at),
        "problem": task.problem,
        **found.report,
    }
