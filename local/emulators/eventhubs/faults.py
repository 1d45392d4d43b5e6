"""Fault switches: what the server does wrong on purpose, so that clients can be tested against it."""

from __future__ import annotations

from dataclasses import dataclass

SERVER_BUSY = "com.microsoft:server-busy"


@dataclass(slots=True)
class FaultSwitches:
    """The switches; all are off at the start."""

    server_busy_sends: int = 0
    delay_seconds: float = 0.0

    def takes_server_busy(self) -> bool:
        """Whether to refuse the send that arrives now; counts it."""
        if self.server_busy_sends <= 0:
            return False
        self.server_busy_sends -= 1
        return True
