"""Unit tests of entries."""
