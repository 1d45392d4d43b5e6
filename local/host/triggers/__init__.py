"""Triggers that the host listens on: timers, queues, Cosmos DB and Event Hubs."""
