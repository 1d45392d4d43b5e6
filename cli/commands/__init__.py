"""One module per command: `add` declares its arguments, `run` does it and returns the exit code."""
