"""Tests of catalog over a Table service."""
