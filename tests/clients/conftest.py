"""A local run as users start it, for the clients of all languages."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from index_tables import IndexTables, ProblemError
from tests.clients.node import MODULES, TYPESCRIPT, node
from tests.e2e.runs import ready
from tests.support import ROOT, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SAMPLES = ROOT / "local/run/samples"


def samples(source: str) -> list[dict[str, Any]]:
    """The facts that a run of the project's own definitions begins with."""
    return [json.loads(line) for line in (SAMPLES / f"{source}.jsonl").read_text().splitlines()]


IN_REDMOND = [customer for customer in samples("customers") if customer.get("town") == "Redmond"]


@dataclass(frozen=True, slots=True)
class ClientRun:
    """A local run with the samples, which asks for keys."""

    url: str
    key: str
    cosmos: dict[str, str]


@pytest.fixture(scope="session")
def client_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientRun]:
    """Once its index has all samples."""
    folder: Path = tmp_path_factory.mktemp("clients") / "run"
    with ready(folder, "--in-memory", "--auth", "keys") as (_, endpoints):
        key = json.loads((folder / "keys.json").read_text())["function"]
        run = ClientRun(endpoints["http"], key, endpoints["cosmos"])
        with IndexTables(run.url, key=run.key) as tables:
            wait_until(lambda: _has_samples(tables), "the samples are in the index")
        yield run


def _has_samples(tables: IndexTables) -> bool:
    try:
        return tables.index("customers-by-town").count(town="Redmond") == len(IN_REDMOND)
    except ProblemError:
        return False


@pytest.fixture(scope="session")
def typescript_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the TypeScript client, compiled as its own configuration says."""
    folder: Path = tmp_path_factory.mktemp("typescript") / "index-tables"
    folder.mkdir()
    shutil.copy(TYPESCRIPT / "package.json", folder)
    node(MODULES / "typescript/bin/tsc", "-p", TYPESCRIPT, "--outDir", folder / "dist")
    return folder
