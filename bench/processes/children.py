"""Programs in fresh processes that time themselves: what is paid once per process cannot be timed in this one."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.errors import BenchError
from bench.measure.case import Sample

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
# The program is put between two readings of both clocks, which cost no import.
_TIMED = """
import time
wall, cpu = time.perf_counter(), time.process_time()
{program}
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
import json
print(json.dumps([wall, cpu]))
"""


class Child:
    """A program that is run in a process of its own, and what it costs per operation."""

    def __init__(self, program: str, operations: int = 1, settings: Mapping[str, str] | None = None) -> None:
        self._source = _TIMED.format(program=program)
        self._operations = operations
        self._settings = settings or {}

    async def run(self) -> Sample:
        """Run it to its end, with its own readings."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            self._source,
            cwd=ROOT,
            env={**os.environ, **self._settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        output, complaint = await process.communicate()
        if process.returncode:
            raise BenchError(f"A measured program failed; its last words: {complaint.decode()[-500:]}")
        wall, cpu = json.loads(output.splitlines()[-1])
        return Sample(wall / self._operations, cpu / self._operations, {})
