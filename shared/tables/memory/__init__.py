"""The Table service in memory, for tests and simulations."""
