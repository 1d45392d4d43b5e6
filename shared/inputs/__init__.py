"""What callers send: parameters, bodies, page sizes, page tokens, and their faults."""
