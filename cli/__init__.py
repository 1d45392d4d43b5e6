"""The command line, `index-tables`."""
