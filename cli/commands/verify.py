"""`index-tables verify`, `repair` and `reconcile`: is an index right, and make it so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command, budget_option, exclusive, flag, non_empty, option
from cli.definitions import index_argument
from cli.errors import UsageError
from cli.output import noun, write_rows
from cli.service.app_client import app_options, client_for, index_path
from cli.service.verifications import wait_until_verified

if TYPE_CHECKING:
    import click

    from cli.arguments import Arguments

_KINDS: Final = ("missing", "stale", "ghost", "unapplied", "orphan")
_COLUMNS: Final = (
    "index",
    "generation",
    "facts",
    "entries",
    *_KINDS,
    "behind",
    "deadLetters",
    "tombstones",
    "masked",
    "repaired",
    "unrepaired",
    "examples",
    "events",
    "untold",
)
_EXAMPLE_COLUMNS: Final = ("kind", "id", "partitionKey", "row")


def add(commands: click.Group) -> None:
    """Declare the three commands."""
    add_command(
        commands,
        "verify",
        run_verify,
        *exclusive(
            option("--sample", metavar="N", type=int, help="look at N facts and their neighbours only"),
            flag("--full", "look at everything (the default)"),
        ),
        *_common(),
        summary="is an index right?",
        description="Compare facts, ledger and table of an index both ways, while changes go on. The app does it; "
        "this command waits and shows progress. Exit 1 when there are differences.",
        examples="  index-tables verify customers-by-town\n  index-tables verify customers-by-town --sample 500\n",
    )
    add_command(
        commands,
        "repair",
        run_repair,
        *_common(),
        summary="verify, and repair what differs",
        description="Verify an index and project every fact that differs again, at the versions that the ledger has. "
        "Entries of facts that are gone from their container stay: see reconcile. Exit 1 when something could not be "
        "repaired.",
        examples="  index-tables repair customers-by-town\n",
    )
    add_command(
        commands,
        "reconcile",
        run_reconcile,
        *_common(),
        summary="remove entries of facts that are gone",
        description="Verify an index and remove the entries of facts that were deleted in their container, or expired "
        "there, without the change feed showing it. Exit 1 when other differences were found, or one is left.",
        examples="  index-tables reconcile customers-by-town\n",
    )


def _common() -> tuple[click.Parameter, ...]:
    return (
        index_argument("the index"),
        option("--generation", metavar="ID", type=non_empty, help="another generation than that of the definition"),
        budget_option(),
        *app_options(),
    )


def run_verify(args: Arguments) -> int:
    """Verify; 1 when there are differences."""
    if args.sample is not None and args.sample < 1:
        raise UsageError("--sample is a number of facts from 1 up")
    found = _run(args, {} if args.sample is None else {"sample": args.sample})
    return 1 if found["total"] else 0


def run_repair(args: Arguments) -> int:
    """Repair; 1 when something is left."""
    found = _run(args, {"repair": True})
    return 1 if found["unrepaired"] or found["differences"]["orphan"] else 0


def run_reconcile(args: Arguments) -> int:
    """Reconcile; 1 when something else differs, or is left."""
    found = _run(args, {"reconcile": True})
    others = found["total"] - found["differences"]["orphan"]
    return 1 if found["unrepaired"] or others else 0


def _run(args: Arguments, asked: dict[str, Any]) -> dict[str, Any]:
    """Start it, follow it, print what it found."""
    options = {"generation": args.generation, "budget": args.budget}
    body = {**asked, **{name: value for name, value in options.items() if value is not None}}
    app = client_for(args, "admin")
    started = app.post(index_path(args.index, "verifications"), body)
    found = wait_until_verified(app, args.index, started["id"])
    row = {**found, **found["differences"]}
    write_rows([row], _COLUMNS, args.format, as_text=lambda _: _summary(found))
    if args.format == "table" and found["examples"]:
        print()
        write_rows([_example(example) for example in found["examples"]], _EXAMPLE_COLUMNS, args.format)
    return found


def _summary(found: dict[str, Any]) -> str:
    """A report for people."""
    differences = found["differences"]
    kinds = ", ".join(f"{differences[kind]} {kind}" for kind in _KINDS if differences[kind]) or "nothing"
    looked = f"; {_counted(found['examined'], 'fact')} looked at closely" if found["examined"] else ""
    besides = [
        _counted(found["behind"], "change on its way", "changes on their way"),
        _counted(found["deadLetters"], "dead letter"),
        _counted(found["tombstones"], "tombstone"),
        _counted(found["masked"], "hidden row"),
    ]
    if found.get("untold"):
        besides.append(f"{_counted(found['untold'], 'fact')} of which the hub has no event any more")
    facts = _counted(found["events"], "event") if "events" in found else _counted(found["facts"], "fact")
    rows = f"{_counted(found['ledgerRows'], 'ledger row')}, {_counted(found['rows'], 'row')}"
    lines = [
        f"{found['index']}, generation {found['generation']}",
        f"  read      {facts}, {rows}{looked}",
        f"  differs   {kinds}",
        f"  besides   {', '.join(besides)}",
    ]
    if found["repair"] or found["reconcile"]:
        left = f"{found['unrepaired']:,} could not be repaired"
        swept = f"{_counted(found['swept'], 'tombstone')} given to the sweep"
        lines.append(f"  repaired  {_counted(found['repaired'], 'fact')}; {left}; {swept}")
    return "\n".join(lines)


def _counted(number: int, singular: str, plural: str | None = None) -> str:
    """A number of any length with its noun."""
    return f"{number:,} {noun(number, singular, plural)}"


def _example(example: dict[str, Any]) -> dict[str, Any]:
    row = f"{example['PartitionKey']} | {example['RowKey']}" if "RowKey" in example else None
    return {**example, "row": row}
