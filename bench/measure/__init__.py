"""How a workload is measured, kept and compared with the baseline."""
