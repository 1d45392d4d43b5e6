"""The templates in infra/, held to everything that can be known without Azure."""
