"""Unit tests of local."""
