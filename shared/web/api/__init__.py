"""The HTTP API without the binding: one module per resource."""
