"""Tests of verification over a Table service."""
