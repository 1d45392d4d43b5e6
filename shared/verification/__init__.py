"""Verification: scans of facts and rows, judging, and repair."""
