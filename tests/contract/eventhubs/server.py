"""A local Event Hubs in a process of its own, which tests may stop, kill and start again on the same folder."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from local.emulators.eventhubs.options import connection_string
from local.process import ports
from tests.support import listens, local_command, wait_until

if TYPE_CHECKING:
    from pathlib import Path

STOP_SECONDS = 15


@dataclass
class LocalEventHubs:
    """The server's process; `arguments` come after its ports and its folder."""

    folder: Path
    arguments: list[str]
    port: int = field(default_factory=lambda: ports.any_free(1)[0])
    admin_port: int = field(default_factory=lambda: ports.any_free(1)[0])
    process: subprocess.Popen[bytes] | None = None

    @property
    def connection_string(self) -> str:
        """What clients connect with."""
        return connection_string(self.port)

    def start(self) -> LocalEventHubs:
        """Start it and wait until it listens."""
        command = local_command("eventhubs", "--port", str(self.port), "--data", str(self.folder))
        command += ["--admin-port", str(self.admin_port), "--watch-stdin", *self.arguments]
        self.process = process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        wait_until(lambda: listens(self.port) or process.poll() is not None, f"a server on port {self.port}")
        assert process.poll() is None
        return self

    def stop(self) -> int:
        """Ask it to stop, as Ctrl-C does; gives its exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int:
        """End it without a chance to write anything."""
        return self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        self.process.communicate(timeout=STOP_SECONDS)
        return self.process.returncode

    def admin(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Any:
        """Call the fault switches; gives the answer's JSON, whatever its status."""
        url = f"http://127.0.0.1:{self.admin_port}{path}"
        headers = {"Content-Type": content_type}
        request = urllib.request.Request(url, json.dumps(body or {}).encode(), headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return json.load(error)
