"""Entry rows: columns, JSON text. Pure."""
