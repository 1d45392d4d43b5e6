"""The benchmarks: how they measure, compare and report."""
