"""`python -m local.eventhubs`: the same as `python -m local eventhubs`."""

from __future__ import annotations

import sys

from local.commands import main

if __name__ == "__main__":
    sys.exit(main(["eventhubs", *sys.argv[1:]]))
