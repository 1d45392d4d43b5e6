"""The HTTP API of verifications, without the binding."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from shared.errors import LifecycleRefusedError
from shared.inputs.bodies import NUMBER, SWITCH, TEXT, WHOLE_NUMBER, read_members
from shared.inputs.faults import shown
from shared.inputs.parameters import no_parameters
from shared.web.answers import HttpAnswer, json_answer
from shared.web.api.lifecycle import instant_text

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


class VerificationApi:
    """Answers requests about verifications."""

    def __init__(self, desk: VerificationService) -> None:
        self._desk = desk

    async def start(self, index: str, body: bytes, url: str) -> HttpAnswer:
        """Start one; `Location` says where its report will be."""
        no_parameters(url)
        asked = read_members(body, _MEMBERS)
        found = await self._desk.start(
            index,
            asked.get("generation"),
            asked.get("sample"),
            asked.get("budget"),
            repairs=asked.get("repair", False),
            reconciles=asked.get("reconcile", False),
        )
        parts = urlsplit(url)
        path = f"/api/indexes/{quote(index, safe='')}/verifications/{quote(found.task.id, safe='')}"
        answer = json_answer(described(found))
        return HttpAnswer(answer.body, _ACCEPTED, headers={"Location": f"{parts.scheme}://{parts.netloc}{path}"})

    async def one(self, index: str, identity: str, url: str) -> HttpAnswer:
        """How a verification stands, and what it found."""
        no_parameters(url)
        # What else may come in a path may be no key of a table.
        if not re.fullmatch(IDENTITY, identity):
            raise LifecycleRefusedError(
                "NoSuchVerification", f'There is no verification {shown(identity)} of index "{index}".'
            )
        return json_answer(described(await self._desk.found(index, identity)))

    async def latest(self, index: str, url: str) -> HttpAnswer:
        """The latest, the last one first."""
        no_parameters(url)
        return json_answer({"value": [described(one) for one in await self._desk.latest(index)]})


def described(found: VerificationResult) -> dict[str, Any]:
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
