"""Property tests of pipeline."""
