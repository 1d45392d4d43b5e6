"""The account document: what a client reads first, to learn where to send everything else."""

from __future__ import annotations

from typing import Any

import orjson

# What the query engine allows; clients keep it for their own plans.
_QUERY_ENGINE = {
    "maxSqlQueryInputLength": 524288,
    "maxJoinsPerSqlQuery": 0,
    "maxLogicalAndPerSqlQuery": 2000,
    "maxLogicalOrPerSqlQuery": 2000,
    "maxInExpressionItemsCount": 16000,
    "queryMaxInMemorySortDocumentCount": 1000000,
    "sqlAllowSubQuery": False,
    "allowNewKeywords": True,
    "sqlAllowLike": True,
    "sqlAllowGroupByClause": False,
    "sqlAllowTop": True,
    "spatialMaxGeometryPointCount": 256,
    "queryEnableFullText": False,
}


def describe_account(endpoint: str) -> dict[str, Any]:
    """One region, this server, for reading and writing."""
    location = {"name": "Local", "databaseAccountEndpoint": endpoint}
    return {
        "_self": "",
        "id": "local",
        "_rid": "local",
        "media": "//media/",
        "addresses": "//addresses/",
        "_dbs": "//dbs/",
        "writableLocations": [location],
        "readableLocations": [location],
        "enableMultipleWriteLocations": False,
        "userReplicationPolicy": {"asyncReplication": False, "minReplicaSetSize": 1, "maxReplicasetSize": 4},
        "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"},
        "systemReplicationPolicy": {"minReplicaSetSize": 1, "maxReplicasetSize": 4},
        "readPolicy": {"primaryReadCoefficient": 1, "secondaryReadCoefficient": 1},
        "queryEngineConfiguration": orjson.dumps(_QUERY_ENGINE).decode(),
    }
