"""What each request to the local Cosmos DB does."""
