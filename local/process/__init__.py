"""What every process of the local run shares: errors, ports, and a lifeline to its parent."""
