"""A running app, as commands call it and follow its long work."""
