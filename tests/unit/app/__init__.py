"""Unit tests of app."""
