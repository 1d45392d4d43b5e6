"""Node programs of the tests of clients: TypeScript, generators, linters."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support import ROOT, missing_service

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent / "js"
MODULES = FOLDER / "node_modules"
TYPESCRIPT = ROOT / "clients/typescript"
STRICT = {
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "module": "nodenext",
    "target": "es2022",
    "lib": ["es2022", "dom", "dom.iterable"],
    "types": [],
    "noEmit": True,
    "skipLibCheck": True,
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


def compile_typescript(folder: Path, files: list[str], *, client: Path | None = None, **options: Any) -> None:
    """`tsc --strict` on these files of a folder, beside the client's package; fails with what the compiler says."""
    link_modules(folder, client)
    config = {"compilerOptions": {**STRICT, **options}, "files": files}
    (folder / "tsconfig.json").write_text(json.dumps(config))
    node(MODULES / "typescript/bin/tsc", "-p", folder)


def link_modules(folder: Path, client: Path | None) -> None:
    """Let programs of a folder import the packages that the tests have, and the client."""
    modules = folder / "node_modules"
    modules.mkdir()
    for module in [*MODULES.iterdir(), *([] if client is None else [client])]:
        (modules / module.name).symlink_to(module)
    (folder / "package.json").write_text('{"type": "module"}')
