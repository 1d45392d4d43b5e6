"""The contract of Cosmos DB as the real SDKs see it, held against the local server or a real account."""
