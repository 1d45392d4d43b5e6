"""Benchmarks: ratios against yardsticks measured in the same run.

README.md beside this file says how to run them, how they are judged and how to add a workload.
"""
