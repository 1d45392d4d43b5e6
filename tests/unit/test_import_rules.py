"""The map of layers in the docs and the contracts of import-linter say the same."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from tests.support import ROOT

MAP = [line.split()[1:] for line in (ROOT / "docs/rooms.map").read_text().splitlines() if line.startswith("layer ")]


def contract_layers(container: str) -> list[set[str]]:
    """The layers that import-linter holds inside a package, from the top down."""
    contracts: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    (contract,) = [each for each in contracts if each.get("containers") == [container]]
    assert contract["exhaustive"], container
    return [{name.strip() for name in layer.split("|")} for layer in contract["layers"]]


def mapped_layers(prefix: str) -> list[set[str]]:
    """The layers of the map below a folder, each room once."""
    below = [[room.removeprefix(prefix) for room in layer if room.startswith(prefix)] for layer in MAP]
    if not prefix:  # the rooms of shared, with inner rooms as one
        below = [[room.partition("/")[0] for room in layer] for layer in MAP]
        outside = {"function_app", "functions", "cli", "local"}
        below = [[room for room in layer if room not in outside] for layer in below]
    found: list[set[str]] = []
    for layer in filter(None, below):
        if not found or found[-1] != set(layer):
            found.append(set(layer))
    return found


@pytest.mark.parametrize(
    ("container", "prefix"),
    [("shared", ""), ("shared.pipeline", "pipeline/"), ("shared.entries", "entries/"), ("local", "local/")],
)
def test_the_map_has_the_layers_that_import_linter_holds(container: str, prefix: str) -> None:
    """So a picture made from the map is true."""
    assert mapped_layers(prefix) == contract_layers(container)
