"""Unit tests of definitions."""
