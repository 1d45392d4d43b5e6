"""The subset of Cosmos DB's SQL that the local server answers: parsed, checked, evaluated over documents."""
