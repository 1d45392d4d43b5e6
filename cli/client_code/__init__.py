"""Typed classes of the clients, written for the indexes of a definitions file."""
