"""The product: everything that the functions and the command line do."""
