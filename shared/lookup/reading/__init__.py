"""Reading stretches of index tables: in which tables, from which endpoint, in which order, what counts."""
