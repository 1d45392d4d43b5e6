"""`index-tables init`: draft definitions from facts, with the reasons."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import add_command, flag, option
from cli.errors import UsageError
from cli.output import tell, write_rows
from cli.sources.csv_files import AUTO
from cli.sources.draft import SourceDraft, definitions_text, slug
from cli.sources.fact_files import FactFiles
from cli.sources.profile import DISTINCT_MAX, Profile
from shared.app import settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import click

    from cli.arguments import Arguments

_DEFAULT: Final = settings.Settings().value(settings.INDEX_DEFINITIONS)
_COLUMNS: Final = ("source", "field", "type", "facts", "values", "example", "use")
_LONGEST_EXAMPLE: Final = 40
_EXAMPLES: Final = """\
  index-tables init --from customers.jsonl
  index-tables init --from airports.csv --id iata --definitions airports.yaml
  index-tables init --from customers.jsonl --from orders.json --force
"""


def add(commands: click.Group) -> None:
    """Declare the command."""
    add_command(
        commands,
        "init",
        run,
        option(
            "--from",
            "files",
            metavar="FILE",
            type=Path,
            multiple=True,
            required=True,
            help=".json, .jsonl or .csv",
        ),
        option("--id", "identity", metavar="FIELD", help="the field that is the id of a fact"),
        option("--database", metavar="NAME", default="data", show_default=True, help="the Cosmos DB database"),
        flag("--events", "the facts arrive through an event hub, not from a container"),
        option("--definitions", metavar="FILE", help=f"where to write them (default: {_DEFAULT})"),
        flag("--force", "replace a file that is there"),
        summary="draft definitions from facts",
        description="Read facts, and draft the definitions of indexes on them: a source for each file, with types, and "
        "the fields that make good keys with the reasons, in comments. Prints what every field is like. The draft has "
        "no fault; which lookups you need is yours to say.",
        examples=_EXAMPLES,
    )


def run(args: Arguments) -> int:
    """Write the draft, and print the fields."""
    target = Path(args.definitions or _DEFAULT)
    if target.exists() and not args.force:
        raise UsageError(f"{target} is there already: name another with --definitions, or replace it with --force")
    sources = [_drafted(file, args) for file in args.files]
    _check_names(sources)
    target.write_text(definitions_text(sources, args.database), encoding="utf-8")
    write_rows([row for source in sources for row in _rows(source)], _COLUMNS, args.format)
    tell("\n  ".join([f"wrote {target}; next:", *_next_steps(args, target, sources)]))
    return 0


def _drafted(file: Path, args: Arguments) -> SourceDraft:
    profile = Profile().of_facts(FactFiles({AUTO: AUTO}, args.identity).facts(file))
    if not profile.facts:
        raise UsageError(f"{file} has no facts: nothing can be said about them")
    if (("id",), False) not in profile.fields:
        raise UsageError(f'{file}: no fact has an "id": name the field that is one with --id')
    return SourceDraft(slug(file.stem), profile, args.events)


def _check_names(sources: Sequence[SourceDraft]) -> None:
    names = [source.name for source in sources]
    if len(set(names)) < len(names):
        raise UsageError(f"two files would be the same source ({', '.join(names)}): rename one")


def _rows(source: SourceDraft) -> Iterator[dict[str, Any]]:
    """What each field is like, and what it is good for."""
    reasons = {id(candidate.field): candidate.reason for candidate in source.candidates()}
    for found in source.profile.fields.values():
        example = next(iter(found.values), "")
        yield {
            "source": source.name,
            "field": f"{found.path}[]" if found.is_list else found.path,
            "type": found.type or "several" if len(found.types) > 1 else found.type or "object",
            "facts": f"{source.profile.share(found):.0%}",
            "values": f"{found.distinct:,}{'+' if found.distinct == DISTINCT_MAX else ''}",
            "example": example if len(example) <= _LONGEST_EXAMPLE else f"{example[:_LONGEST_EXAMPLE]}…",
            "use": "key" if id(found) in reasons else None,
        }


def _next_steps(args: Arguments, target: Path, sources: Sequence[SourceDraft]) -> Iterator[str]:
    where = shlex.quote(str(target))
    yield f"index-tables validate {where}"
    yield f"python -m local up --definitions {where}"
    for file, source in zip(args.files, sources, strict=True):
        is_text = source.profile.fields[("id",), False].type in ("string", "datetime")
        identity = f" --id {shlex.quote(args.identity or 'id')}" if args.identity or not is_text else ""
        types = " --types auto" if file.suffix.lower() == ".csv" else ""
        yield f"index-tables load {shlex.quote(str(file))} --source {source.name}{identity}{types}"
