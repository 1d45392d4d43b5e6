"""HTTP triggers: routes, function keys, and the server that calls functions."""
