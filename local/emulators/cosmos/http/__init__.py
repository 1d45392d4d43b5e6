"""The HTTP server of the local Cosmos DB: requests, signatures, faults, options."""
