"""`python -m cli` is `index-tables`."""

from __future__ import annotations

import sys


def _run() -> int:
    """The exit code. Loading the commands takes long enough for Ctrl-C; `main` hears it from then on."""
    try:
        from cli.main import main

        return main()
    except KeyboardInterrupt:
        print("index-tables: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(_run())
