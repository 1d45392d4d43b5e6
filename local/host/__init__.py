"""The function host: drives the production Python runtime with real triggers."""
