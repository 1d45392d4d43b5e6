"""What commands that read definitions share: the FILE argument, and findings as rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import Arguments, argument, non_empty, option
from cli.errors import UsageError
from cli.local_run import definitions_of_run
from cli.output import what_and_fix, wrapped, write_rows
from shared.app import settings
from shared.definitions.files import read_definitions
from shared.definitions.model import Definitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

    from cli.arguments import Option
    from cli.output import Row
    from shared.definitions.loading.findings import Finding
    from shared.definitions.loading.load import Loaded

_COLUMNS: Final = ("kind", "file", "line", "key", "what", "mend")


def definitions_parameters() -> tuple[click.Parameter, ...]:
    """`--definitions`, or FILE, for commands that are about a definitions file."""
    return argument("file", "the same as --definitions FILE", "FILE", required=False), definitions_option()


def index_argument(about: str, *, required: bool = True, nargs: int = 1) -> click.Argument:
    """INDEX, or several."""
    name = "indexes" if nargs < 0 else "index"
    settings: dict[str, Any] = {"type": non_empty, "required": required, "nargs": nargs}
    return argument(name, about, "INDEX", shell_complete=_index_names, **settings)


def source_option(about: str, *, required: bool = False) -> Option:
    """`--source`, one of the definitions."""
    return option("--source", metavar="SOURCE", required=required, help=about, shell_complete=_source_names)


def definitions_option(about: str = "the definitions") -> Option:
    """`--definitions`, by default those of the local run, else those that the app itself would read."""
    default = settings.Settings().value(settings.INDEX_DEFINITIONS)
    return option("--definitions", metavar="FILE", help=f"{about} (default: those of the local run, or {default})")


def definitions_file(args: Arguments) -> str:
    """The file that was named, else that of the local run that the command works on, else that of the app."""
    given: dict[str, Any] = vars(args)
    file, definitions = given.get("file"), given["definitions"]
    if file and definitions and file != definitions:
        raise UsageError(f"FILE is {file} and --definitions is {definitions}: name one file")
    is_elsewhere = any(given.get(name) for name in ("url", "azure", "against"))
    of_run = None if is_elsewhere or "data" not in given else definitions_of_run(given["data"])
    return file or definitions or of_run or settings.Settings().value(settings.INDEX_DEFINITIONS)


def _index_names(ctx: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    return [name for name in _completing(ctx).indexes if name.startswith(typed)]


def _source_names(ctx: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    return [name for name in _completing(ctx).sources if name.startswith(typed)]


def _completing(ctx: click.Context) -> Definitions:
    """The definitions that an unfinished command is about; none of them when there are none yet."""
    try:
        file = definitions_file(Arguments(**{"definitions": None, **ctx.params}))
    except UsageError:
        return Definitions()
    return read_definitions(Path(file)).definitions


def read(file: str) -> Loaded:
    """The definitions of a file that must exist."""
    path = Path(file)
    if path.is_dir():
        raise UsageError(f"{file} is a folder: name a definitions file, such as indexes.yaml")
    # Not `is_file`: it may be a pipe, as in `plan --against <(git show main:indexes.yaml)`.
    if not path.exists():
        raise UsageError(f"there is no file {file}: name a definitions file, such as indexes.yaml")
    return read_definitions(path)


def write_findings(faults: Sequence[Finding], advice: Sequence[Finding], output_format: str) -> None:
    """Print faults, then advice."""
    rows = [*(_row("fault", finding) for finding in faults), *(_row("advice", finding) for finding in advice)]
    write_rows(rows, _COLUMNS, output_format, _as_text)


def _row(kind: str, finding: Finding) -> dict[str, Any]:
    return {
        "kind": kind,
        "file": finding.file,
        "line": finding.line,
        "key": finding.key,
        "what": finding.what,
        "mend": finding.fix,
    }


def _as_text(row: Row) -> str:
    """The position in one line, which editors and terminals turn into a link; what is wrong and the fix below."""
    head = f"{row['file']}:{row['line']}: {row['kind']}: {row['key']}".removesuffix(": ")
    return f"{head}\n{wrapped(what_and_fix(row), '    ')}"
