"""Prints docs/licenses.md: what is deployed besides this project, with versions and licenses.

Run it with a Python that has the packages of requirements.txt and no others (`make licenses`).
"""

import importlib.metadata
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = """# Licenses

What runs in Azure besides this project. `make licenses` makes this page from the installed packages.
"""


def main() -> None:
    """Print the page."""
    print(HEAD)
    print("| package | version | license |\n|---|---|---|")
    for line in (ROOT / "requirements.txt").read_text().splitlines():
        if name := re.match(r"([\w.-]+)==", line):
            meta = importlib.metadata.metadata(name[1])
            print(f"| {name[1]} | {meta['Version']} | {license_of(meta)} |")
    print("\nScripts that the pages bring along:\n\n| package | version | license |\n|---|---|---|")
    for package in json.loads((ROOT / "shared/web/vendor/vendored.json").read_text()):
        print(f"| {package['name']} | {package['version']} | {package['license']} |")


def license_of(meta: importlib.metadata.PackageMetadata) -> str:
    """The license as the package names it: the expression, else the classifiers, else the first line of the field."""
    if "License-Expression" in meta:
        return meta["License-Expression"]
    classifiers = [text for text in meta.get_all("Classifier") or [] if text.startswith("License :: OSI Approved :: ")]
    if classifiers:
        return ", ".join(text.rpartition(" :: ")[2] for text in classifiers)
    return meta["License"].strip().splitlines()[0]


if __name__ == "__main__":
    main()
