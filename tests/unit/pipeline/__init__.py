"""Unit tests of pipeline."""
