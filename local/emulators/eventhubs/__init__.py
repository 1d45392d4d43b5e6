"""The local Event Hubs: AMQP 1.0 over asyncio, events in SQLite, for the unchanged Azure SDKs."""
