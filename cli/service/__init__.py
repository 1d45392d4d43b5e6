"""Calls of a running app, and following its long work."""
