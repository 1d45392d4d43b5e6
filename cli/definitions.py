"""What commands that read definitions share: the FILE argument, and findings as rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.arguments import argument, non_empty, option
from cli.errors import UsageError
from cli.output import what_and_fix, wrapped, write_rows
from shared.app import settings
from shared.definitions.files import read_definitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

    from cli.arguments import Option
    from cli.output import Row
    from shared.definitions.loading.findings import Finding
    from shared.definitions.loading.load import Loaded

_COLUMNS: Final = ("kind", "file", "line", "key", "what", "mend")


def file_argument() -> click.Argument:
    """FILE, by default the definitions that the app itself would read."""
    default = settings.Settings().value(settings.INDEX_DEFINITIONS)
    return argument("file", f"the definitions (default: {default})", "FILE", required=False, default=default)


def index_argument(about: str, *, required: bool = True, nargs: int = 1) -> click.Argument:
    """INDEX, or several."""
    return argument("indexes" if nargs < 0 else "index", about, "INDEX", type=non_empty, required=required, nargs=nargs)


def definitions_option(about: str = "the definitions") -> Option:
    """`--definitions`, with the same default as FILE."""
    default = settings.Settings().value(settings.INDEX_DEFINITIONS)
    return option("--definitions", metavar="FILE", default=default, show_default=True, help=about)


def read(file: str) -> Loaded:
    """The definitions of a file that must exist."""
    path = Path(file)
    # Not `is_file`: it may be a pipe, as in `plan --against <(git show main:indexes.yaml)`.
    if not path.exists() or path.is_dir():
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
