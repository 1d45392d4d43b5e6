"""Adds what is no Python package to the list of parts (`make sbom`): the project itself, and the scripts of its pages.

python .ci/sbom.py FILE
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
VENDOR = "shared/web/vendor"


def main() -> None:
    """Change the file."""
    file = Path(sys.argv[1])
    listed = json.loads(file.read_text(encoding="utf-8"))
    listed.setdefault("metadata", {})["component"] = project()
    listed["components"] += [scripts(package) for package in vendored()]
    file.write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")


def project() -> dict[str, Any]:
    """What the parts are parts of."""
    described = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = described["name"], described["version"]
    return {"type": "application", "bom-ref": f"{name}@{version}", "name": name, "version": version}


def vendored() -> list[dict[str, Any]]:
    """The packages whose files lie beside the pages."""
    packages: list[dict[str, Any]] = json.loads((ROOT / VENDOR / "vendored.json").read_text(encoding="utf-8"))
    return packages


def scripts(package: dict[str, Any]) -> dict[str, Any]:
    """A package of scripts, with each of its files."""
    address = f"pkg:npm/{package['name']}@{package['version']}"
    return {
        "type": "library",
        "bom-ref": address,
        "name": package["name"],
        "version": package["version"],
        "purl": address,
        "licenses": [{"license": {"id": package["license"]}}],
        "components": [
            {
                "type": "file",
                "bom-ref": f"{address}#{file['from']}",
                "name": f"{VENDOR}/{name}",
                "hashes": [{"alg": "SHA-256", "content": file["sha256"]}],
            }
            for name, file in package["files"].items()
        ],
    }


if __name__ == "__main__":
    main()
