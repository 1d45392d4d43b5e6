"""Property tests of local."""
