"""Writes of summaries: contributions and totals that change together, their sweep, and the recount of a group."""
