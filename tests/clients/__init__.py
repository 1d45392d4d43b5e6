"""The clients, and what is generated from the OpenAPI document."""
