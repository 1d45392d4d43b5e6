"""What HTTP answers look like."""
