"""Property tests of lookup."""
