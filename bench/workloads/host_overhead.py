"""What the local function host, with the production Python runtime in it, adds to a request, against bare aiohttp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import ClientSession

from bench.case import Case
from bench.processes import module_serving
from local.process import ports

if TYPE_CHECKING:
    from bench.measurement import Measurement
    from bench.meter import Meter

NAME = "host-overhead"
REQUESTS = 300


def requests(name: str, session: ClientSession, url: str, operations: int) -> Case:
    """So many requests, one after the other."""

    async def run() -> dict[str, int]:
        answers = 0
        for _ in range(operations):
            async with session.get(url) as response:
                await response.read()
                answers += response.ok
        return {"answers": answers}

    return Case(name, operations, run)


async def measure(meter: Meter) -> list[Measurement]:
    """The app's own liveness function, which does nothing but answer."""
    operations = meter.scaled(REQUESTS)
    host_port, bare_port = ports.any_free(2)
    async with (
        module_serving(host_port, "local", "host", "--http-only", "--port", str(host_port)) as ours,
        module_serving(bare_port, "bench.bare_server", str(bare_port)) as bare,
        ClientSession() as session,
    ):
        return [
            await meter.compare(
                "GET /api/health/live",
                unit="request",
                subject=requests("local host", session, f"{ours}/api/health/live", operations),
                yardsticks=[requests("bare aiohttp", session, f"{bare}/", operations)],
            )
        ]
