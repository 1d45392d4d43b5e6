"""What a result says, as tables, charts and pages."""
