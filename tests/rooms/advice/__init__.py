"""Tests of advice over a Table service."""
