"""The workloads; every module here is one (see bench/README.md)."""
