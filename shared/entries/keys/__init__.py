"""Keys: values encoded so that their order is the order of Table keys. Pure."""
