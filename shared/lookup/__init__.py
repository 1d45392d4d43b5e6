"""Lookups: plan, read, page."""
