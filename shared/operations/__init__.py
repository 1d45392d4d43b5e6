"""What operators want to know: how far behind the pipeline is, what it did, and what that costs."""
