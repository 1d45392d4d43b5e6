"""The real pipeline under every interleaving that a scheduler can find."""
