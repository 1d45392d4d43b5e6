"""Cold start is money: the Table client brings in aiohttp and no Azure SDK."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from shared.definitions.files import write_compiled
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_the_table_client_imports_no_azure_sdk() -> None:
    """Not even azure-identity, which only the adapter for tokens needs. Nor do lookups: facts are fetched rarely."""
    program = (
        "import sys, shared.tables.client, shared.tables.wire.entra, shared.tables.memory.memory_tables;"
        "import shared.app.app;"
        "print([name for name in sys.modules if name.split('.')[0] == 'azure'])"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


START = """
import sys, function_app
assert len(function_app.app.get_functions()) > 20
print(*sorted(sys.modules))
"""
# What batches, lookups and operators need comes with the first of them.
NOT_AT_START = (
    *("pydantic", "yaml", "jmespath", "aiohttp", "cryptography", "opentelemetry"),
    *("azure.identity", "azure.cosmos", "azure.eventhub", "azure.storage", "azure.data"),
    *(f"shared.{room}" for room in ("advice", "catalog", "lifecycle", "lookup", "monitoring", "pipeline", "tasks")),
    *("shared.verification", "shared.definitions.loading.document", "shared.tables.client", "shared.web.openapi"),
)


def test_a_start_imports_what_registers_functions_and_no_more(tmp_path: Path) -> None:
    """With compiled definitions, as they are deployed."""
    definitions = tmp_path / "indexes.yaml"
    definitions.write_text((ROOT / "indexes.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    write_compiled(definitions)
    environment = {**os.environ, "INDEX_DEFINITIONS": str(definitions), "INDEX_STORAGE": "UseDevelopmentStorage=true"}
    command = [sys.executable, "-c", START]
    shown = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    loaded = shown.stdout.split()
    assert [name for name in loaded if f"{name}.".startswith(tuple(f"{slow}." for slow in NOT_AT_START))] == []
    # A start is 45 modules of ours; more than a few new ones are worth a thought.
    assert len([name for name in loaded if name.startswith("shared.")]) <= 50
