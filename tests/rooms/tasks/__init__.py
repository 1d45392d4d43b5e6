"""Tests of tasks over a Table service."""
