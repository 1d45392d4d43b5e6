"""Tests of pipeline over a Table service."""
