"""The hook that `azd` runs after it deployed: waits until the app is ready, and says where to begin.

    python infra/hooks/after_deploy.py [--seconds 600]

Uses the standard library only. What it needs are outputs of infra/main.bicep, which azd puts into the environment.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILED = ROOT / "indexes.compiled.json"
POLL_SECONDS = 5.0
REQUEST_SECONDS = 60.0


def main() -> int:
    """Exit 0 when the app is ready, 1 when it is not in time, with the last reason."""
    parser = argparse.ArgumentParser(description="Wait until the deployed app is ready.")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to wait (default: 600)")
    options = parser.parse_args()
    url = os.environ.get("FUNCTION_APP_URL", "").rstrip("/")
    if not url:
        print("error: FUNCTION_APP_URL is not set: azd sets it when it provisions.", file=sys.stderr)
        return 1
    print(f"Waiting for {url}/api/health/ready ...", flush=True)
    problem = wait_until_ready(f"{url}/api/health/ready", time.monotonic() + options.seconds)
    if is_closed(problem):
        print("The app is deployed and takes no calls from this machine (PRIVATE_APP or ALLOWED_ADDRESSES).")
        print(f"Ask {url}/api/health/ready from one that may call.")
        return 0
    if problem:
        print(f"error: the app is not ready after {options.seconds:g} s: {problem}", file=sys.stderr)
        kind = "an operator's token" if client_id() else "a key"
        print(f"See {url}/api/health/details (with {kind}), and the app's log stream in the portal.", file=sys.stderr)
        return 1
    print(begin(url, os.environ.get("FUNCTION_APP_NAME", "NAME"), os.environ.get("AZURE_RESOURCE_GROUP", "GROUP")))
    return 0


def wait_until_ready(address: str, deadline: float) -> str:
    """Ask until the answer is 200, or the deadline; what was wrong at last, or nothing."""
    while True:
        problem = not_ready(address)
        if not problem or is_closed(problem) or time.monotonic() >= deadline:
            return problem
        time.sleep(min(POLL_SECONDS, max(0.0, deadline - time.monotonic())))


def not_ready(address: str) -> str:
    """Why the app is not ready, or nothing."""
    try:
        with urllib.request.urlopen(address, timeout=REQUEST_SECONDS):
            return ""
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read(2000).decode(errors='replace')}".strip()
    except OSError as error:
        return str(error)


def is_closed(problem: str) -> bool:
    """Whether the network keeps this machine out, as the parameters say: the app lets all ask if it is ready."""
    restricts = os.environ.get("PRIVATE_APP", "") == "true" or os.environ.get("ALLOWED_ADDRESSES", "[]") not in {
        "",
        "[]",
    }
    return restricts and problem.startswith("403 ")


def client_id() -> str:
    """The app registration whose tokens callers send; nothing when they send keys."""
    return os.environ.get("ENTRA_CLIENT_ID", "")


def begin(url: str, app: str, group: str) -> str:
    """The first lookup, the console, and how to get a key or a token for both."""
    what, header = "key", "x-functions-key: KEY"
    command = f"az functionapp keys list --resource-group {group} --name {app} --query functionKeys.default"
    if client_id():
        what, header = "token", "Authorization: Bearer TOKEN"
        command = f"az account get-access-token --resource api://{client_id()} --query accessToken"
    return "\n".join(
        [
            "",
            "The app is ready.",
            f"  {f'a {what}':<12}  {command} --output tsv",
            f"  first lookup  curl -H \"{header}\" '{url}/api/indexes{first_lookup()}'",
            f"  console       {url}/api/console (it asks for the {what})",
        ]
    )


def first_lookup() -> str:
    """The entries of the first index, with the parts of its partition left to fill in; else the list of indexes."""
    try:
        indexes = json.loads(COMPILED.read_text(encoding="utf-8"))["indexes"]
        name, index = next(iter(indexes.items()))
        parts = "&".join(f"{urllib.parse.quote(part['name'])}=..." for part in index["partition"])
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return ""
    return f"/{urllib.parse.quote(name)}/entries?{parts}"


if __name__ == "__main__":
    sys.exit(main())
