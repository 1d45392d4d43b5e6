"""Projection: a change and the definitions give the entries that the fact has. Pure."""
