"""Unit tests of lookup."""
