"""A proxy in front of the Table service that kills a process when its n-th request comes by.

The request is either never forwarded, or forwarded while no process is left to hear the answer: both are ways to die.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.e2e.table_proxy import TableProxy

if TYPE_CHECKING:
    import subprocess


@dataclass
class KillingProxy(TableProxy):
    """Forwards until it kills; from then on it refuses everything."""

    victim: subprocess.Popen[bytes] | None = None
    kill_at: int = 0
    forwards_last: bool = False
    count: int = 0

    def arm(self, victim: subprocess.Popen[bytes] | None, kill_at: int, *, forwards_last: bool) -> None:
        """Count from the beginning, and kill at this request."""
        self.count, self.victim, self.kill_at, self.forwards_last = 0, victim, kill_at, forwards_last

    def admits(self) -> bool:
        """Count, and kill when it is time."""
        self.count += 1
        if self.victim is None or self.count < self.kill_at:
            return True
        self.victim.kill()
        return self.forwards_last and self.count == self.kill_at
