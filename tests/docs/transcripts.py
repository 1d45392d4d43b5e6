"""Runs what a page shows: its `console` blocks, command by command, in a folder with the files that the page names.

A block with a `title` that is no `console` is a file. `python -m local up` and `make run` go on beside; `^C` ends them.
Answers are compared line by line: `…` stands for anything; keys, versions, times and addresses may differ. A command
that only looks is repeated until its answer is the one shown, since a change takes a moment.

With `UPDATE_DOCS=1` answers that differ are written into the page.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.e2e.runs import READY_SECONDS, endpoints
from tests.support import ROOT, Program, local_command, running, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

UPDATES: Final = bool(os.environ.get("UPDATE_DOCS"))
PATIENCE_SECONDS: Final = 30.0
# After this time the answer of a new command is the one to write into the page.
SETTLED_SECONDS: Final = 5.0
# Shown in the pages; a run takes another port when this one is taken.
USUAL_ADDRESS: Final = "http://127.0.0.1:7071"
ANYTHING: Final = "…"
BREAK_COLUMN: Final = 130

_BLOCK: Final = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE
)
_TITLE: Final = re.compile(r'title="([^"]+)"')
_ONLY_LOOKS: Final = re.compile(
    r"index-tables (query|count|list|explain|status|plan|advise|verify|validate|dead-letters list)|curl"
)
_STARTED: Final = re.compile("local: (azurite|cosmos|eventHubs) listens")
_GOES_ON: Final = re.compile(r"make run|python -m local up")
_DIGITS_VARY: Final = re.compile(r"index-tables (status|advise|verify)")
_MASKS: Final = (
    (re.compile(r"\b[0-9a-f]{16,}\b|(?<=[a-z])[0-9a-f]{16}\b|\b[0-9a-f]{32}\b"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]*(\+00:00|Z)?"), "TIME"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"token=[\w-]+"), "token=TOKEN"),
    (re.compile(r" \(not its usual ports?\)"), ""),
    (re.compile(r" listens on [\d, ]+$"), " listens"),
    (re.compile(r"-{3,}"), "---"),
    (re.compile(r"\s+"), " "),
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command that a page shows, with its answer."""

    text: str
    answer: str

    def fits(self, output: str) -> bool:
        """Whether this is the answer that the page shows."""
        if self.answer.lstrip().startswith("{") and ANYTHING not in self.answer:
            with contextlib.suppress(ValueError):
                return bool(_masked_json(self.answer) == _masked_json(output))
        lines = [self._masked(line) for line in _lines(self.answer)]
        pattern = "\n".join(re.escape(line).replace(re.escape(ANYTHING), ".*?") for line in lines)
        # At the beginning `…` may stand for no line at all.
        pattern = re.sub(r"^\.\*\?\n", r"(?:(?s:.*?)\\n)?", pattern)
        pattern = re.sub(r"(?:^|\n)\.\*\?(?=\n|$)", r"(?:\\n?(?s:.*?))", pattern)
        shown = "\n".join(self._masked(line) for line in _lines(output))
        return re.fullmatch(pattern, shown) is not None

    def _masked(self, line: str) -> str:
        masked = _masked(line)
        return re.sub(r"\d[\d.,]*|(?<= )-(?= |$)", "0", masked) if _DIGITS_VARY.match(self.text) else masked


def _lines(text: str) -> list[str]:
    """The lines of an answer; services start side by side, so what they say about it has any order."""
    lines = text.strip().splitlines()
    in_order = iter(sorted(line for line in lines if _STARTED.match(line)))
    return [next(in_order) if _STARTED.match(line) else line for line in lines]


@dataclass(slots=True)
class Page:
    """A page of the documentation, and what is run of it."""

    path: Path
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _program: Program | None = None
    _printed: str | None = None

    def run(self) -> None:
        """Everything, in the order of the page."""
        text = self.path.read_text(encoding="utf-8")
        with self._stack:
            made = _BLOCK.sub(lambda block: self._block(block["info"], block["body"]) or block[0], text)
        if made != text:
            assert UPDATES
            self.path.write_text(made, encoding="utf-8")

    def use(self, found: Mapping[str, Any], printed: str) -> None:
        """Run the commands against a local run that is there, and has printed this."""
        self.environment["APP"] = found["http"]
        self._printed = printed

    def _block(self, info: str, body: str) -> str | None:
        title = _TITLE.search(info)
        if info.split() and info.split(maxsplit=1)[0] == "console":
            answers = [self._command(command) for command in commands_in(body)]
            return f"```{info}\n{''.join(answers)}```"
        if title:
            (self.folder / title[1]).write_text(body, encoding="utf-8")
        return None

    def _command(self, command: Command) -> str:
        self.ran.append(command.text)
        if command.text == "^C":
            self._stop()
            return "^C\n" + command.answer
        output = self._start(command) if _GOES_ON.match(command.text) else self._output(command)
        if command.fits(output):
            return _shown(command.text, command.answer)
        if UPDATES:
            return _shown(command.text, _formatted(output))
        pytest.fail(f"{self.path.name} shows for\n$ {command.text}\n{command.answer}\nbut it is\n{output}")

    def _output(self, command: Command) -> str:
        patience = PATIENCE_SECONDS if command.answer else SETTLED_SECONDS
        deadline = time.monotonic() + (patience if _ONLY_LOOKS.match(command.text) else 0)
        while True:
            output = self._bash(command.text)
            if command.fits(output) or time.monotonic() >= deadline:
                return output
            time.sleep(0.2)

    def _bash(self, text: str) -> str:
        address = self.environment.get("APP", USUAL_ADDRESS)
        done = subprocess.run(
            ["bash", "-c", text.replace(USUAL_ADDRESS, address)],
            cwd=self.folder,
            env=self._whole_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return done.stdout.replace(address, USUAL_ADDRESS)

    def _whole_environment(self) -> dict[str, str]:
        tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own = {"PATH": tools, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "COLUMNS": "150", "NO_COLOR": "1"}
        return {**os.environ, **own, **self.environment}

    def _start(self, command: Command) -> str:
        if self._printed is not None:
            return _own_lines(self._printed)
        data = self.folder / ".local"
        arguments = ["--data", str(data)]
        if found := re.search(r"--definitions (\S+)", command.text):
            arguments += ["--definitions", str(self.folder / found[1])]
        self._program = self._stack.enter_context(
            running(local_command("up", *arguments), self.folder / "up.log", self.settings)
        )
        program = self._program
        wait_until(
            lambda: endpoints(data).get("pid") == program.process.pid or program.process.poll() is not None,
            "endpoints.json",
            READY_SECONDS,
        )
        assert program.process.poll() is None, program.output
        self.environment["APP"] = endpoints(data)["http"]
        return _own_lines(program.output)

    def _stop(self) -> None:
        assert self._program is not None
        self._program.process.send_signal(signal.SIGINT)
        assert self._program.wait() == 0, self._program.output


def commands_in(body: str) -> Iterator[Command]:
    """The commands of a `console` block, each with the lines below it."""
    lines: list[str] = []
    for line in [*body.splitlines(), None]:
        if lines and (line is None or line.startswith("$ ") or line == "^C"):
            continued = 1
            while lines[continued - 1].endswith("\\") and continued < len(lines):
                continued += 1
            text = "\n".join(lines[:continued]).removeprefix("$ ")
            yield Command(text, "".join(f"{each}\n" for each in lines[continued:]))
            lines = []
        if line is not None:
            lines.append(line)


def blocks(path: Path) -> Iterator[tuple[str, str]]:
    """The info and the body of every block of a page."""
    for block in _BLOCK.finditer(path.read_text(encoding="utf-8")):
        yield block["info"], textwrap.dedent(block["body"])


def _own_lines(printed: str) -> str:
    """What a run says itself, without the log of its host."""
    return "\n".join(line for line in printed.splitlines() if not line.startswith("host |"))


def _shown(text: str, answer: str) -> str:
    return f"$ {text}\n{answer}"


def _masked(text: str) -> str:
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text.strip()


def _masked_json(text: str) -> Any:
    return json.loads(_masked(json.dumps(json.loads(text))))


def _formatted(output: str) -> str:
    """An answer as a page shows it: long JSON is broken between members."""
    try:
        value = json.loads(output)
    except ValueError:
        return "".join(f"{line.rstrip()}\n" for line in output.rstrip().splitlines())
    return f"{broken(value)}\n"


def broken(value: Any, indent: str = "") -> str:
    """JSON with as few lines as fit."""
    whole = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(whole) <= BREAK_COLUMN or not isinstance(value, dict | list):
        return whole
    deeper = f"{indent}  "
    items: Sequence[str]
    if isinstance(value, list):
        items, ends = [broken(item, deeper) for item in value], "[]"
    else:
        items = [f"{json.dumps(name)}: {broken(item, deeper)}" for name, item in value.items()]
        ends = "{}"
    return f"{ends[0]}\n{deeper}" + f",\n{deeper}".join(items) + f"\n{indent}{ends[1]}"
