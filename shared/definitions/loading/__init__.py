"""From the text of a definitions file to checked definitions."""
