"""Summaries: what one fact contributes to a group, what a group's total is, and how both are stored. Pure."""
