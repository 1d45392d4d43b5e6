"""Entries: from a change and a definition to the rows that a fact has in an index. Pure."""
