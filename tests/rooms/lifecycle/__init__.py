"""Tests of lifecycle over a Table service."""
