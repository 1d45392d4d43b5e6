"""What is left of a fact that was deleted, and how to force it out."""
