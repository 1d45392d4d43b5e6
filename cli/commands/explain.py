"""`index-tables explain`: how a lookup would run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command
from cli.output import wrapped, write_rows
from cli.service.app_client import client_for, index_path, suggestion_text
from cli.service.lookup_arguments import asked_parameters, lookup_parameters

if TYPE_CHECKING:
    import click

    from cli.arguments import Arguments
    from cli.output import Row

_COLUMNS: Final = (
    "index",
    "access",
    "explanation",
    "generation",
    "table",
    "accounts",
    "partitionKeys",
    "rowKeys",
    "rowKeyRanges",
    "partitions",
    "parallelReads",
    "shards",
    "tables",
    "storageTransactionsPerPage",
    "factReadsPerPage",
    "comparesStoredValues",
    "suggestion",
    "errors",
)
_EXAMPLES: Final = """\
  index-tables explain customers-by-town town=Redmond lastName.ge=S
  index-tables explain customers-by-town lastName=Smith  # refused, and why
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "explain",
        run,
        *lookup_parameters(),
        summary="show how a lookup would run",
        description="Show how a lookup would run: access class, key bounds, shards, storage transactions. "
        "Exit 1 when it would be refused.",
        examples=_EXAMPLES,
    )


def run(args: Arguments) -> int:
    """Print the explanation; exit 1 for a lookup that is refused."""
    client = client_for(args)
    shown = client.get(index_path(args.index, "explain"), asked_parameters(client, args))
    write_rows([shown], [column for column in _COLUMNS if column in shown], args.format, _as_text)
    return 1 if shown["access"] == "refused" else 0


def _as_text(row: Row) -> str:
    """The access class and what it means, then everything else by name."""
    lines = [f"{row['index']}: {row['access']}", wrapped(row["explanation"], "    ")]
    lines += [f"    {name}: {_value(row[name])}" for name in _COLUMNS[3:-2] if name in row]
    lines += [wrapped(f"{each['code']}: {each['detail']}", "    ") for each in row.get("errors", ())]
    lines += [suggestion_text(row["suggestion"])] if "suggestion" in row else []
    return "\n".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return f"from {value['from']!a} up to but without {value['before']!a}"
    return ", ".join(map(repr, value)) if isinstance(value, list) else str(value)
