"""The Cosmos DB trigger: a change feed processor with leases, like the one inside the real extension."""
