"""What the Index Table pattern warns of, found in samples and statistics of the indexes."""
