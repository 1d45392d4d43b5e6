"""Facts for the example definitions, and the entries that they give."""
