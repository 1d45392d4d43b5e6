"""Verification: scans of facts and rows, confirming differences, and repair."""
