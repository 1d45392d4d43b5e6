"""Unit tests of monitoring."""
