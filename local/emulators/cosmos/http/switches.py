"""The server's own endpoints, for tests: ordering faults, splitting a range, moving the clock forward.

They carry no signature. They take JSON under its own content type only, so that a web page in a
browser cannot reach them without asking first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local.emulators.cosmos.errors import BadRequestError, MethodNotAllowedError, NotFoundError
from local.emulators.cosmos.exchange import Answer, Call, answer_json

if TYPE_CHECKING:
    from local.emulators.cosmos.data.clock import Clock
    from local.emulators.cosmos.data.expiry import Expiry
    from local.emulators.cosmos.http.faults import Faults
    from local.emulators.cosmos.routes.catalog_routes import CatalogRoutes

FAULTS = "_faults"
CLOCK = "_clock"


@dataclass(frozen=True, slots=True)
class Switches:
    """Answers requests to `/_faults` and `/_clock`."""

    faults: Faults
    clock: Clock
    expiry: Expiry
    catalog: CatalogRoutes

    def answer(self, call: Call) -> Answer:
        if call.method == "POST":
            if not call.headers.get("content-type", "").startswith("application/json"):
                raise BadRequestError("Send the order as application/json.")
            body = call.json_object()
            return self._fault(body) if call.path == (FAULTS,) else self._move_clock(call, body)
        if call.path != (FAULTS,) or call.method not in ("GET", "DELETE"):
            raise MethodNotAllowedError(f"{call.method} is not possible on /{'/'.join(call.path)}.")
        if call.method == "DELETE":
            self.faults.clear()
        return answer_json(200, {"faults": self.faults.describe()})

    def _fault(self, body: dict[str, Any]) -> Answer:
        if body.get("kind") == "split":
            return self._split(body)
        return answer_json(201, self.faults.order(body).describe())

    def _split(self, body: dict[str, Any]) -> Answer:
        path = tuple(str(body.get("container", "")).strip("/").split("/"))
        if len(path) != 4 or path[0] != "dbs" or path[2] != "colls":
            raise BadRequestError('A split needs "container": "dbs/{database}/colls/{container}" and "range": "0".')
        container = self.catalog.container(Call("GET", path, {}, b""))
        children = self.catalog.containers.split(container, str(body.get("range", "0")))
        return answer_json(201, {"ranges": [str(child) for child in children]})

    def _move_clock(self, call: Call, body: dict[str, Any]) -> Answer:
        if call.path != (CLOCK,):
            raise NotFoundError(f"There is nothing at /{'/'.join(call.path)}.")
        seconds = body.get("advanceSeconds")
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < 2**31:
            raise BadRequestError('"advanceSeconds" must be a number that is not negative.')
        self.clock.advance(seconds)
        while self.expiry.sweep():
            pass
        return answer_json(200, {"now": self.clock.timestamp()})
