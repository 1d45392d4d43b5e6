"""Unit tests of advice."""
