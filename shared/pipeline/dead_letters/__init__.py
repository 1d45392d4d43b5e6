"""Changes that cannot be projected: kept, listed, replayed, purged."""
