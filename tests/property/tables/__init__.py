"""Property tests of tables."""
