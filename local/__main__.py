"""`python -m local up | demo | host | cosmos | eventhubs`: the embedded Azure, whole or in parts."""

from __future__ import annotations

import sys


def _run() -> int:
    """The exit code. Loading takes long enough for Ctrl-C; commands hear it themselves from then on."""
    try:
        from local.run.commands import main

        return main(sys.argv[1:])
    except KeyboardInterrupt:
        print("local: stopped")
        return 0


if __name__ == "__main__":
    sys.exit(_run())
