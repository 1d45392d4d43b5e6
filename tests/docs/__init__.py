"""The documentation: what it shows is run, what it names is there, and it stays short."""
