"""Long simulations that a seed decides: everything that a deployment does, at once, under faults."""
