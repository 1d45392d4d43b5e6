"""Worlds that tests share: sources, indexes and facts over a Table service."""
