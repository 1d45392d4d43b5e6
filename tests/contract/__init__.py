"""One suite per port or wire surface, run against every implementation."""
