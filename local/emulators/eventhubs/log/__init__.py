"""Hubs, partitions and their events, in SQLite."""
