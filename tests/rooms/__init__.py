"""Tests of one room each, over a Table service: in memory and in Azurite."""
