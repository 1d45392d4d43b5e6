"""A local Cosmos DB (NoSQL): the gateway's REST surface over SQLite, for the real SDKs, unchanged."""
