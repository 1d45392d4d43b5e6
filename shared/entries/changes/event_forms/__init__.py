"""What events look like: the forms that a source may name, and its own mapping. Pure."""
