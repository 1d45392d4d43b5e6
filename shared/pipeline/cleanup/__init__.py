"""What follows later: sweeping tombstones and removing expired entries."""
