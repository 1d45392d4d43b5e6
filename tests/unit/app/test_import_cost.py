"""Cold start is money: the Table client brings in aiohttp and no Azure SDK."""

from __future__ import annotations

import subprocess
import sys


def test_the_table_client_imports_no_azure_sdk() -> None:
    """Not even azure-identity, which only the adapter for tokens needs. Nor do lookups: facts are fetched rarely."""
    program = (
        "import sys, shared.tables.client, shared.tables.wire.entra, shared.tables.memory.memory_tables;"
        "import shared.app.app;"
        "print([name for name in sys.modules if name.split('.')[0] == 'azure'])"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
