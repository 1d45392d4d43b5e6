"""What operators want to know: lag, counters, status, telemetry and prices."""
