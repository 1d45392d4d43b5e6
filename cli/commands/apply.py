"""`index-tables apply`: bring every index to what its deployed definition says: build, verify, switch."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_budget_argument, add_command, named
from cli.errors import ServiceError
from cli.output import write_rows
from cli.service.builds import COLUMNS, row, standing, wait_until_built
from cli.service.service import add_service_arguments, lookup_path, service_of
from cli.service.verifications import wait_until_verified

if TYPE_CHECKING:
    import argparse

    from cli.arguments import Commands
    from cli.service.service import Service

_POLL_SECONDS: Final = 0.5
_EXAMPLES: Final = """\
  index-tables apply
  index-tables apply customers-by-town --budget 500 --url https://NAME.azurewebsites.net
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "apply",
        run,
        summary="build, verify and switch to what the definitions say",
        description="For every index whose definition does not serve yet: build it, verify it and switch to it. "
        "What a command before it has begun is gone on with. Exit 1 when a verification finds differences: "
        "then that index is not switched.",
        examples=_EXAMPLES,
    )
    parser.add_argument("indexes", metavar="INDEX", type=named, nargs="*", help="the indexes (default: all)")
    add_budget_argument(parser)
    add_service_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Bring the indexes up to their definitions one after the other; print how they stand in the end."""
    service = service_of(args, "admin")
    names = args.indexes or [one["name"] for one in service.get("/api/indexes", {})["value"]]
    rows = []
    differs = False
    for name in names:
        differs |= not bring_up(service, name, args.budget)
        rows.append(row(standing(service, name)))
    write_rows(rows, COLUMNS, args.format)
    return 1 if differs else 0


def bring_up(service: Service, index: str, budget: float | None, *, read_only: bool = False) -> bool:
    """Go on from wherever the index stands; False when its verification found differences.

    With `read_only` nothing is written to what serves from the start on, and it goes as soon as its successor serves.
    """
    state = standing(service, index)
    if state["defined"] is None or state["defined"]["state"] == "serving":
        _say(index, "nothing to do")
        return True
    if read_only:
        _make_read_only(service, index)
    if state["defined"]["state"] == "building":
        if (state["build"] or {}).get("state") != "running":
            body: dict[str, Any] = {} if budget is None else {"budget": budget}
            service.post(lookup_path(index, "builds"), body)
        _say(index, "building")
        state = wait_until_built(service, index)
    _say(index, "verifying")
    if differences := _verified(service, index, budget):
        _say(index, f"not switched: {differences} differences; see `index-tables verify {index}`")
        return False
    since = service.post(lookup_path(index, "switch"), {})["since"]
    _say(index, f"switched: it serves from {since} on")
    return True


def _make_read_only(service: Service, index: str) -> None:
    """Wait until every worker writes to the successor; then write to it alone."""
    while True:
        try:
            since = service.post(lookup_path(index, "read-only"), {})["readOnlySince"]
        except ServiceError as error:
            if "TooEarly" not in str(error):
                raise
            time.sleep(_POLL_SECONDS)
        else:
            _say(index, f"read-only since {since}")
            return


def _verified(service: Service, index: str, budget: float | None) -> int:
    """Verify what was built; how many differences there are."""
    started = service.post(lookup_path(index, "verifications"), {} if budget is None else {"budget": budget})
    return int(wait_until_verified(service, index, started["id"])["total"])


def _say(index: str, what: str) -> None:
    print(f"{index}: {what}", file=sys.stderr, flush=True)
