"""The Table service: transactions, point reads and range queries over the wire."""
