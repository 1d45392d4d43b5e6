"""What pages are made of: tables that the code itself decides.

`UPDATE_DOCS=1 .venv/bin/pytest tests/docs/test_generated.py` writes them.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import click

from cli.main import application
from shared.app.settings import ALL
from shared.inputs.faults import TITLES
from shared.web.error_problems import DEFINITIONS_BROKEN, INTERNAL, KINDS, REFUSALS
from tests.docs import limits
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shared.app.settings import Setting

CODE: Final = ("functions", "shared", "cli", "local")
_SECTIONS: Final = re.MULTILINE | re.DOTALL


def settings_table() -> str:
    """Name, type, default and meaning of every setting."""
    return table("setting | type | default | meaning", map(_setting, ALL))


def _setting(setting: Setting[Any]) -> str:
    default = {None: "must be set", "": "empty"}.get(setting.default, f"`{setting.default}`")
    return f"`{setting.name}` | {setting.type.words} | {default} | {setting.help}"


def statuses() -> dict[str, int]:
    """Every code of a problem with its status, as the code has it."""
    kinds = [*KINDS.values(), *REFUSALS.values(), DEFINITIONS_BROKEN, INTERNAL]
    return dict.fromkeys(TITLES, 400) | {kind.code: kind.status for kind in kinds}


def errors_table() -> str:
    """Every code of a problem, by status."""
    kinds = [*KINDS.values(), *REFUSALS.values(), DEFINITIONS_BROKEN, INTERNAL]
    titles = TITLES | {kind.code: kind.title for kind in kinds}
    by_status = sorted(statuses().items(), key=lambda pair: (pair[1], pair[0]))
    return table(
        "code | status | what is wrong", (f"`{code}` | {status} | {titles[code]}" for code, status in by_status)
    )


def parameters_table() -> str:
    """What people set with `azd env set`: the parameters of the templates, with their descriptions."""
    given = json.loads((ROOT / "infra/main.parameters.json").read_text(encoding="utf-8"))["parameters"]
    bicep = (ROOT / "infra/main.bicep").read_text(encoding="utf-8")
    told = {name: text for text, name in re.findall(r"@description\('(.+)'\)\nparam (\w+) ", _plain(bicep))}
    rows = []
    for name, one in given.items():
        variable, _, default = one["value"].removeprefix("${").removesuffix("}").partition("=")
        shown = f"`{default}`" if default not in ("", "null") else ""
        rows.append(f"`{variable}` | {shown} | {told[name]}")
    return table("`azd env set …` | default | meaning", rows)


def _plain(bicep: str) -> str:
    """Without the decorators that stand between a description and its parameter."""
    return re.sub(r"^@(?!description)\w+\((?:[^()]|\([^()]*\))*\)\n", "", bicep, flags=re.MULTILINE)


def command_line() -> str:
    """Every command with its arguments, options and examples, in the sections of `--help`."""
    group = application()
    sections = [
        f"## {title}\n\n{''.join(_command(group.commands[name], name) for name in names)}"
        for title, names in group.sections.items()
    ]
    return "".join(sections)


def _command(command: click.Command, name: str) -> str:
    """A command, or those of a group."""
    if isinstance(command, click.Group):
        inner = "".join(_command(each, f"{name} {word}") for word, each in command.commands.items())
        return f"### {name}\n\n{command.help}\n\n{inner}"
    context = click.Context(command, info_name=f"index-tables {name}")
    usage = context.get_usage().partition(": ")[2]
    records = [each.get_help_record(context) for each in command.get_params(context)]
    rows = [f"`{_cell(record[0])}` | {_cell(record[1])}" for record in records if record and "--help" not in record[0]]
    examples = "\n".join(line.strip() for line in str(command.epilog).strip().splitlines())
    body = f"```text\n{' '.join(usage.split())}\n```\n\n{table('argument or option | meaning', rows)}"
    return f"### {name}\n\n{' '.join(str(command.help).split())}\n\n{body}\n```sh\n{examples}\n```\n\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<")


def limits_table() -> str:
    """Limits with their values, as the constants have them."""
    rows = [
        f"{limit.what} | {_value(limit)} | `{limit.module}.py` `{limit.constant}`"
        for limit in (*limits.FACTS, *limits.LOOKUPS, *limits.OPERATION)
    ]
    return table("limit | value | source", rows)


def _value(limit: limits.Limit) -> str:
    value: int = getattr(importlib.import_module(limit.module.replace("/", ".")), limit.constant)
    return f"{value // limit.divisor:,} {limit.unit}".replace(",", " ").strip()


def code_map() -> str:
    """Every module with the first sentence of its docstring, folder by folder."""
    sections = []
    for folder, modules in sorted(modules_by_folder().items()):
        rows = [f"`{name}` | {_sentence(f'{folder}/{name}.py')}" for name in sorted(modules)]
        sections.append(
            f"## `{folder}/`\n\n{_sentence(f'{folder}/__init__.py')}\n\n{table('module | what it is', rows)}"
        )
    return "\n".join(sections)


def modules_by_folder() -> dict[str, set[str]]:
    """The modules of the code, by their folder."""
    found: dict[str, set[str]] = {}
    for name in tracked("*.py"):
        path = PurePosixPath(name)
        if path.parts[0] in CODE and path.name != "__init__.py":
            found.setdefault(path.parent.as_posix(), set()).add(path.stem)
    return found


def tracked(pattern: str) -> Iterator[str]:
    """The files of the project, also those that are new and not ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return (name for name in dict.fromkeys(listed) if (ROOT / name).exists())


def _sentence(path: str) -> str:
    file = ROOT / path
    doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) if file.exists() else None
    paragraph = " ".join((doc or "").partition("\n\n")[0].split())
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", paragraph)[0].replace("|", "\\|")


def local_services() -> str:
    """What the local services lack, and what was run against them: from the record that lies beside their tests."""
    record = (ROOT / "tests/contract/README.md").read_text(encoding="utf-8")
    sections = []
    for service in record.split("\n## ")[1:]:
        name, _, text = service.partition("\n")
        for title, body in re.findall(r"^### What (it does not do|was run .*?)$(.*?)(?=^### |\Z)", text, _SECTIONS):
            sections.append(f"### {name}: what {title}\n\n{body.strip()}\n")
    return "\n".join(sections)


def table(heading: str, rows: Iterable[str]) -> str:
    """A Markdown table."""
    ruler = "|".join("---" for _ in heading.split("|"))
    return "".join(f"{line}\n" for line in (f"| {heading} |", f"|{ruler}|", *(f"| {row} |" for row in rows)))
