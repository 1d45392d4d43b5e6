"""The list of mutants stays applicable: every piece of code that it replaces is there, once."""

from __future__ import annotations

import pytest

from tests.mutants.mutants import MUTANTS, Mutant
from tests.support import ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_applied(mutant: Mutant) -> None:
    """A line that was reworded is reworded in the list, too."""
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1
    assert mutant.old != mutant.new
    assert all((ROOT / path).exists() for path in mutant.tests.split())
