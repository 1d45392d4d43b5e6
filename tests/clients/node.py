"""Node programs of the tests of clients: TypeScript, generators, linters."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support import missing_service

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent / "js"
MODULES = FOLDER / "node_modules"
STRICT = {
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "exactOptionalPropertyTypes": False,
    "module": "nodenext",
    "target": "es2022",
    "lib": ["es2022", "dom", "dom.iterable"],
    "types": [],
    "noEmit": True,
}


def node(*arguments: str | Path, folder: Path = FOLDER, environment: Mapping[str, str] | None = None) -> str:
    """The output of `node …`, which must succeed."""
    if not MODULES.is_dir():
        missing_service("The Node packages of tests/clients/js are not installed: make setup-tests.")
    done = subprocess.run(
        ["node", *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compile_typescript(folder: Path, files: list[str], **options: Any) -> None:
    """`tsc --strict` on these files of a folder; fails with what the compiler says."""
    modules = folder / "node_modules"
    if not modules.exists():
        modules.symlink_to(MODULES)
    (folder / "package.json").write_text('{"type": "module"}')
    config = {"compilerOptions": {**STRICT, **options}, "files": files}
    (folder / "tsconfig.json").write_text(json.dumps(config))
    node(MODULES / "typescript/bin/tsc", "-p", folder)
