"""Entry rows: what to write, in which transactions, and what is stored."""
