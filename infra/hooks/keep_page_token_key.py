"""The hook that `azd` runs before it provisions: gives the environment a key for page tokens, once.

    python infra/hooks/keep_page_token_key.py

Without it every deployment would make a new key and end the pages that callers have open. The key is in the values of
the azd environment; it seals page tokens and opens nothing in Azure. Uses the standard library only.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys

KEY = "PAGE_TOKEN_KEY"


def main() -> int:
    """Make a key, unless there is one, or unless this is no run of azd."""
    environment = os.environ.get("AZURE_ENV_NAME")
    if os.environ.get(KEY) or not environment:
        return 0
    command = ["azd", "env", "set", KEY, secrets.token_urlsafe(32), "--environment", environment]
    if subprocess.run(command, check=False).returncode != 0:
        print(f"error: azd did not take a value for {KEY}: set it yourself with `azd env set`.", file=sys.stderr)
        return 1
    print(f"{KEY}: made, and kept in the azd environment {environment}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
