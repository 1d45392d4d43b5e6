"""Faults that a test can order for the next requests: throttling, refusals, delays, lost connections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from local.emulators.cosmos.errors import BadRequestError
from local.emulators.cosmos.exchange import Answer, Call, answer_json

FaultKind = Literal["throttle", "refuse", "delay", "drop", "drop-answer"]

_FIELDS = ("kind", "times", "method", "path", "status", "substatus", "retryAfterMs", "delayMs")


@dataclass(slots=True)
class Fault:
    """One order: what happens to the next `times` requests that it fits."""

    kind: FaultKind
    times: int
    method: str | None
    path: str
    status: int
    substatus: int
    retry_after_ms: int
    delay_ms: int

    def fits(self, call: Call) -> bool:
        path = f"/{'/'.join(call.path)}"
        return self.times > 0 and self.method in (None, call.method) and self.path in path

    def describe(self) -> dict[str, Any]:
        return {
            "kind": self.kind, "times": self.times, "method": self.method, "path": self.path,
            "status": self.status, "substatus": self.substatus,
            "retryAfterMs": self.retry_after_ms, "delayMs": self.delay_ms,
        }  # fmt: skip

    def answer(self) -> Answer:
        """The refusal that a throttled or refused request gets."""
        answer = answer_json(self.status, {"code": str(self.status), "message": "A fault that a test ordered."})
        answer.headers["x-ms-substatus"] = str(self.substatus)
        if self.kind == "throttle":
            answer.headers["x-ms-retry-after-ms"] = str(self.retry_after_ms)
        return answer


class Faults:
    """The orders that are still open, oldest first."""

    def __init__(self) -> None:
        self._open: list[Fault] = []

    def order(self, body: dict[str, Any]) -> Fault:
        """Take an order from a test."""
        unknown = sorted(set(body) - set(_FIELDS))
        if unknown:
            raise BadRequestError(f"A fault has no {', '.join(unknown)}; it has {', '.join(_FIELDS)}.")
        kind = body.get("kind")
        if kind not in get_args(FaultKind):
            raise BadRequestError(f'"kind" of a fault must be one of {", ".join(get_args(FaultKind))}, or split.')
        fault = Fault(
            kind=cast(FaultKind, kind),
            times=_number(body, "times", 1),
            method=_text(body, "method"),
            path=_text(body, "path") or "",
            status=429 if kind == "throttle" else _number(body, "status", 503),
            substatus=_number(body, "substatus", 3200 if kind == "throttle" else 0),
            retry_after_ms=_number(body, "retryAfterMs", 10),
            delay_ms=_number(body, "delayMs", 100),
        )
        self._open.append(fault)
        return fault

    def next_for(self, call: Call) -> Fault | None:
        """The fault for this request, if one fits; counts it."""
        if not self._open:
            return None
        for fault in self._open:
            if fault.fits(call):
                fault.times -= 1
                self._open = [each for each in self._open if each.times > 0]
                return fault
        return None

    def describe(self) -> list[dict[str, Any]]:
        return [fault.describe() for fault in self._open]

    def clear(self) -> None:
        self._open.clear()


def _number(body: dict[str, Any], name: str, default: int) -> int:
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadRequestError(f'"{name}" of a fault must be a number that is not negative.')
    return value


def _text(body: dict[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise BadRequestError(f'"{name}" of a fault must be text.')
    return value
