"""`python -m local.cosmos`: the same as `python -m local cosmos`."""

from __future__ import annotations

import sys

from local.commands import main

if __name__ == "__main__":
    sys.exit(main(["cosmos", *sys.argv[1:]]))
