"""Cosmos DB and Event Hubs: reading, sending, feed positions."""
