"""Unit tests of tasks."""
