"""The tests: one folder per kind, one file per feature, one sentence per test."""
