"""Unit tests of web."""
