"""docs/emulators.md, or the record that it leads to, names everything that the local Cosmos DB offers."""

from __future__ import annotations

import argparse
from typing import get_args

import pytest

from local.emulators.cosmos.http import faults
from local.emulators.cosmos.http.options import add_arguments
from local.emulators.cosmos.sql.expressions import AGGREGATES
from local.emulators.cosmos.sql.functions import FUNCTIONS
from tests.support import ROOT

TEXT = "".join((ROOT / page).read_text(encoding="utf-8") for page in ("docs/emulators.md", "tests/contract/README.md"))


def options() -> list[str]:
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    return [name for action in parser._actions for name in action.option_strings]


@pytest.mark.parametrize("name", [*options(), *get_args(faults.FaultKind), *FUNCTIONS, *AGGREGATES])
def test_every_option_fault_and_function_is_documented(name: str) -> None:
    """What is not written down does not exist for a user."""
    assert name in TEXT
