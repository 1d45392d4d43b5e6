"""Property tests of entries."""
