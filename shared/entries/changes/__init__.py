"""A change in normal form, from a feed or an event. Pure."""
