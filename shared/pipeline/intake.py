"""From what a trigger delivers to changes: each item is read on its own; what cannot be read is a dead letter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shared.errors import UnreadableChangeError
from shared.pipeline.dead_letters import unreadable_letter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shared.pipeline.dead_letters import Letter
    from shared.projection.change import Change


@dataclass(frozen=True, slots=True)
class Intake:
    """The changes of a batch, and the letters of what was none."""

    changes: list[Change] = field(default_factory=list)
    letters: list[Letter] = field(default_factory=list)


def read_all(source: str, items: Iterable[object], read: Callable[[object], Change]) -> Intake:
    """Read every item; one that cannot be read delays none of the others."""
    intake = Intake()
    for item in items:
        try:
            intake.changes.append(read(item))
        except UnreadableChangeError as error:
            intake.letters.append(unreadable_letter(source, item, str(error)))
    return intake
