"""Cold start: what the app needs at start imports neither pydantic, nor YAML, nor JMESPath."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from shared.definitions.files import write_compiled
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import sys
from pathlib import Path
from shared.definitions.files import read_for_start
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.changes.event_changes import EventReader
from shared.entries.projection.projector import Projector

definitions = read_for_start(Path(sys.argv[1])).require()
for index in definitions.indexes.values():
    Projector(index, definitions.sources[index.source])
print(*sorted({"pydantic", "yaml", "jmespath", "difflib"} & set(sys.modules)))
"""


def imported(definitions: Path) -> str:
    """Which of the slow libraries a start with these definitions imports."""
    command = [sys.executable, "-c", SCRIPT, str(definitions)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def test_a_start_from_compiled_definitions_imports_nothing_slow(tmp_path: Path) -> None:
    """They cost more than everything else of ours together."""
    path = tmp_path / "indexes.yaml"
    path.write_text((ROOT / "indexes.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    write_compiled(path)
    assert imported(path) == ""


def test_a_start_without_compiled_definitions_works_too(tmp_path: Path) -> None:
    """Only slower."""
    path = tmp_path / "indexes.yaml"
    path.write_text((ROOT / "indexes.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    assert imported(path) == "pydantic yaml"
