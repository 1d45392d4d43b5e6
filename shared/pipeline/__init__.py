"""Applying changes: ledger, claims, entry writes, dead letters, sweep."""
