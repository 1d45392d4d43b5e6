"""What a lookup asks for: conditions, options, filter, and the plan that answers them."""
