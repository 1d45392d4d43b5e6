"""Mutants: the protocol with one line broken, which the tests must notice. `python -m tests.mutants`."""
