"""Which generations there are, and which one serves."""
