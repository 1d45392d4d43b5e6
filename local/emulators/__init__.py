"""Servers that speak the protocols of Azure. They know nothing of this product."""
