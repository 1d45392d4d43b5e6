"""Applies mutants one by one to copies of the project and runs the tests that should notice.

    python -m tests.mutants                  all of them
    python -m tests.mutants retention sweep  those whose names contain one of these words
    python -m tests.mutants --changed main   those whose files differ from a commit
    python -m tests.mutants --part 7/6       every sixth of them; the number of commits turns them over in CI

Exit 1 when a mutant survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.mutants import MUTANTS, Mutant
from tests.support import ROOT

_LEFT_OUT = shutil.ignore_patterns("node_modules", ".git", ".venv*", ".local", ".*_cache", "__pycache__", "*.egg-info")

_COPIES = min(4, os.cpu_count() or 1)


def main() -> int:
    """Print a line for each mutant; exit 1 when one survives."""
    wanted = _wanted()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(_COPIES) as pool:
        # Each copy takes one mutant at a time.
        free: SimpleQueue[Path] = SimpleQueue()
        for number in range(_COPIES):
            free.put(Path(shutil.copytree(ROOT, Path(folder) / str(number) / "project", ignore=_LEFT_OUT)))
        if not _pass(Path(folder) / "0" / "project", wanted):
            print("the tests fail without any mutant")
            return 1
        killed = list(pool.map(lambda mutant: _is_killed(mutant, free), wanted))
    survivors = [mutant for mutant, is_killed in zip(wanted, killed, strict=True) if not is_killed]
    print(f"{len(wanted) - len(survivors)} of {len(wanted)} mutants killed")
    return 1 if survivors else 0


def _wanted() -> list[Mutant]:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Do the tests notice broken lines?")
    parser.add_argument("words", nargs="*", help="only mutants whose names contain one of these")
    parser.add_argument("--changed", metavar="COMMIT", help="only mutants of files that differ from this commit")
    parser.add_argument(
        "--part", type=_part, default=(0, 1), metavar="K/N", help="only every Nth mutant, beginning with K"
    )
    args = parser.parse_args()
    changed: set[str] | None = None
    if args.changed:
        command = ["git", "diff", "--name-only", args.changed]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        changed = set(listed.stdout.splitlines())
    first, step = args.part
    return [
        mutant
        for mutant in MUTANTS[first % step :: step]
        if (not args.words or any(word in mutant.name for word in args.words))
        and (changed is None or mutant.file in changed)
    ]


def _part(text: str) -> tuple[int, int]:
    """K/N as two numbers."""
    first, _, step = text.partition("/")
    return int(first), int(step)


def _is_killed(mutant: Mutant, free: SimpleQueue[Path]) -> bool:
    copy = free.get()
    try:
        return _fails(mutant, copy)
    finally:
        free.put(copy)


def _fails(mutant: Mutant, copy: Path) -> bool:
    path = copy / mutant.file
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        # 1: a test failed. Anything else (no test, a wrong option) is a fault of this list.
        is_killed = _exit_code(copy, mutant.tests.split()) == 1
    finally:
        path.write_text(whole, encoding="utf-8")
    print(f"{'killed  ' if is_killed else 'SURVIVED'}  {mutant.name} ({mutant.file})", flush=True)
    return is_killed


def _pass(copy: Path, wanted: list[Mutant]) -> bool:
    """Tests that fail anyway would kill everything."""
    return not wanted or _exit_code(copy, sorted({path for mutant in wanted for path in mutant.tests.split()})) == 0


def _exit_code(copy: Path, tests: list[str]) -> int:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    command += ["-k", "not azurite", "--no-header"]
    return subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
