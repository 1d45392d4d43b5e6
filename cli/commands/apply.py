"""`index-tables apply`: bring every index to what its deployed definition says: build, verify, switch."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command, budget_option, option, seconds_limit
from cli.definitions import definitions_option, index_argument
from cli.errors import ServiceError
from cli.output import counted, tell, write_rows
from cli.service.app_client import app_options, client_for, index_path
from cli.service.builds import STATE_COLUMNS, index_state, start_build, state_row, wait_until_built, with_budget
from cli.service.deployed import file_for, wait_until_deployed
from cli.service.verifications import wait_until_verified

if TYPE_CHECKING:
    import click

    from cli.arguments import Arguments
    from cli.service.app_client import AppClient

_POLL_SECONDS: Final = 0.5
# A switch holds on all instances after twice their CATALOG_REFRESH_SECONDS.
_SWITCH_SECONDS: Final = 120.0
_EXAMPLES: Final = """\
  index-tables apply
  index-tables apply customers-by-town --budget 500 --url https://NAME.azurewebsites.net
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "apply",
        run,
        index_argument("the indexes (default: all)", required=False, nargs=-1),
        definitions_option("what should serve"),
        option("--wait", metavar="SECONDS", type=seconds_limit, help="for the app to have them (default: a local run)"),
        budget_option(),
        *app_options(),
        summary="build, verify and switch to what the definitions say",
        description="For every index whose definition does not serve yet: build it, verify it and switch to it. "
        "It continues what an earlier command began. Says when the app runs other definitions than the file, "
        "waits for a local run to reload them, and prints what serves in the end. Exit 1 when a verification finds "
        "differences: then that index is not switched.",
        examples=_EXAMPLES,
    )


def run(args: Arguments) -> int:
    """Bring the indexes up to their definitions one after the other; print their states."""
    app = client_for(args, "admin")
    if found := file_for(args):
        wait_until_deployed(app, found, args.indexes, args.wait)
    names = args.indexes or [index["name"] for index in app.get("/api/indexes", {})["value"]]
    rows = []
    differs = False
    for name in names:
        differs |= not bring_up(app, name, args.budget)
        rows.append(state_row(_when_it_serves(app, name)))
    write_rows(rows, STATE_COLUMNS, args.format)
    return 1 if differs else 0


def _when_it_serves(app: AppClient, index: str) -> dict[str, Any]:
    """The state of an index, once a switch that has been made holds."""
    deadline = time.monotonic() + _SWITCH_SECONDS
    while True:
        state = index_state(app, index)
        defined, serving = state["defined"] or {}, state["serving"] or {}
        is_to_come = defined.get("state") == "serving" and serving.get("id") != defined["id"]
        if not is_to_come or time.monotonic() > deadline:
            return state
        time.sleep(_POLL_SECONDS)


def bring_up(app: AppClient, index: str, budget: float | None, *, read_only: bool = False) -> bool:
    """Continue from the current state of the index; False when its verification found differences.

    With `read_only` the serving generation gets no more writes, and it is retired as soon as its successor serves.
    """
    state = index_state(app, index)
    if state["defined"] is None or state["defined"]["state"] == "serving":
        _say(index, "nothing to do")
        return True
    if read_only:
        _make_read_only(app, index)
    if state["defined"]["state"] == "building":
        if (state["build"] or {}).get("state") != "running":
            start_build(app, index, budget)
        _say(index, "building")
        state = wait_until_built(app, index)
    _say(index, "verifying")
    if differences := _verified(app, index, budget):
        _say(index, f'not switched: {counted(differences, "difference")}; see "index-tables verify {index}"')
        return False
    since = app.post(index_path(index, "switch"), {})["since"]
    _say(index, f"switched: it serves from {since} on")
    return True


def _make_read_only(app: AppClient, index: str) -> None:
    """Wait until every worker writes to the successor; then write to it alone."""
    while True:
        try:
            since = app.post(index_path(index, "read-only"), {})["readOnlySince"]
        except ServiceError as error:
            if "TooEarly" not in str(error):
                raise
            time.sleep(_POLL_SECONDS)
        else:
            _say(index, f"read-only since {since}")
            return


def _verified(app: AppClient, index: str, budget: float | None) -> int:
    """Verify what was built; how many differences there are."""
    started = app.post(index_path(index, "verifications"), with_budget({}, budget))
    return int(wait_until_verified(app, index, started["id"])["total"])


def _say(index: str, what: str) -> None:
    tell(f"{index}: {what}")
