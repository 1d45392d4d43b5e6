"""One batch of changes: intake, decide, claim, write, finish."""
