"""Reading facts where they live."""
