"""Tests of lookup over a Table service."""
