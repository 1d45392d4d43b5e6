"""Property tests of definitions."""
