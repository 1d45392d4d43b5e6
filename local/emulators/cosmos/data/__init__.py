"""Databases, containers, items and feeds of the local Cosmos DB, in SQLite."""
