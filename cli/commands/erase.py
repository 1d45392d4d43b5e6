"""`index-tables erase`: what is left of a deleted fact; with `--force`, forces it out."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command, exclusive, flag, non_empty, option
from cli.errors import UsageError
from cli.output import agrees, tell, write_rows
from cli.service.app_client import app_options, check_text, client_for

if TYPE_CHECKING:
    import click

    from cli.arguments import Arguments

_PATH: Final = "/api/erasures"
_COLUMNS: Final = ("place", "what", "until")
_RISKS: Final = (
    "Until SWEEP_DELAY_SECONDS after the delete, a request that is still on its way can bring a row back.\n"
    "Nothing remembers any more that the fact was deleted: an older change that comes again brings it back.\n"
    "Verify the indexes of the source later: index-tables verify INDEX."
)
_UNKNOWN: Final = (
    "but the ledger does not know the fact: it was deleted and is forgotten by now, or its id or partition key is "
    "another one; check both"
)


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "erase",
        run_erase,
        option("--source", metavar="SOURCE", type=non_empty, required=True, help="the source of the fact"),
        option("--id", metavar="ID", type=non_empty, required=True, help="its id"),
        *exclusive(
            option(
                "--partition-key",
                metavar="VALUE",
                multiple=True,
                help="its partition key, needed where that is not its id; once for each level",
            ),
            option(
                "--partition-key-json", metavar="JSON", help="the same, for values that are not text: 17, [17, true]"
            ),
        ),
        flag("--force", "remove it at once; the command names the risks"),
        flag("--yes", "do not ask"),
        *app_options(),
        summary="show what is left of a deleted fact, and remove it",
        description="Show what is left of a deleted fact, where, and until when. With --force, remove it at once; "
        "docs/erasure.md names the risks. At a terminal it asks first. Needs the admin key. Exit 1 when "
        "something is left.",
        examples="  index-tables erase --source customers --id c-17 --partition-key c-17\n"
        "  index-tables erase --source customers --id c-17 --partition-key c-17 --force\n",
    )


def run_erase(args: Arguments) -> int:
    """Print what is left; say the risks of what is forced."""
    fact, app = _fact(args), client_for(args, "admin")
    if args.force:
        print(_RISKS, file=sys.stderr)
        if not (args.yes or agrees(f"Force out what is left of {fact['id']!r} of {fact['source']}?")):
            tell("nothing was forced out")
            return 1
    found = app.post(_PATH, {**fact, "force": args.force})
    write_rows(found["left"], _COLUMNS, args.format)
    tell(_standing(found, forced=args.force))
    return 1 if found["left"] else 0


def _standing(found: dict[str, Any], *, forced: bool) -> str:
    """What the list means, for people: an empty one must not pass for a success when the fact was named wrongly."""
    if found["isDeleted"] is None:
        listed = "this" if found["left"] else "nothing"
        return f"{listed} is left under this name, {_UNKNOWN}"
    if not found["isDeleted"]:
        return "the fact is not deleted, as far as the ledger knows"
    if not found["left"]:
        return "removed: nothing is left"
    return "the fact is deleted; this could not be removed yet" if forced else "the fact is deleted; this is left"


def _fact(args: Arguments) -> dict[str, Any]:
    given = list(args.partition_key)
    for text in (args.source, args.id, *given):
        check_text(text)
    fact: dict[str, Any] = {"source": args.source, "id": args.id}
    if args.partition_key_json is None:
        return fact | ({"partitionKey": given} if given else {})
    try:
        return fact | {"partitionKey": json.loads(args.partition_key_json)}
    except ValueError as error:
        raise UsageError(f"--partition-key-json is not JSON ({error}): write a value, or a list of them") from None
