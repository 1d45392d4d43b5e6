"""`python -m local up | demo | host | cosmos | eventhubs`: the embedded Azure, whole or in parts."""

from __future__ import annotations

import sys

from local.run.commands import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
