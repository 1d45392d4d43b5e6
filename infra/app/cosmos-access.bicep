// The lease containers of the change feed, and the app's data-plane roles in a Cosmos DB account, made here or brought
// along: it reads facts, writes leases, and nothing else.
param accountName string
param principalId string
param databases array
param containers array

var leaseContainer = 'leases'
var dataReader = '00000000-0000-0000-0000-000000000001'
var dataContributor = '00000000-0000-0000-0000-000000000002'

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-04-15' existing = {
  name: accountName
}

resource databaseResources 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-04-15' existing = [for database in databases: {
  parent: account
  name: database
}]

// The trigger cannot create it: an identity of the data plane may not.
resource leases 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-04-15' = [for (database, i) in databases: {
  parent: databaseResources[i]
  name: leaseContainer
  properties: {
    resource: {
      id: leaseContainer
      partitionKey: {
        paths: ['/id']
        kind: 'Hash'
        version: 2
      }
    }
  }
}]

// The change feed processor reads the metadata of account and database, which roles of a container do not cover.
resource metadataReader 'Microsoft.DocumentDB/databaseAccounts/sqlRoleDefinitions@2025-04-15' = {
  parent: account
  name: guid(account.id, 'index-tables-metadata-reader')
  properties: {
    roleName: 'Index Tables metadata reader'
    type: 'CustomRole'
    assignableScopes: [account.id]
    permissions: [
      {
        dataActions: ['Microsoft.DocumentDB/databaseAccounts/readMetadata']
      }
    ]
  }
}

// An account takes one change of its roles at a time and answers the others with 412, so these wait for each other.
resource readsMetadata 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-04-15' = {
  parent: account
  name: guid(account.id, principalId, metadataReader.id)
  properties: {
    principalId: principalId
    roleDefinitionId: metadataReader.id
    scope: account.id
  }
}

@batchSize(1)
resource readsFacts 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-04-15' = [for container in containers: {
  parent: account
  name: guid(account.id, principalId, dataReader, container.database, container.name)
  properties: {
    principalId: principalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataReader}'
    scope: '${account.id}/dbs/${container.database}/colls/${container.name}'
  }
  dependsOn: [readsMetadata]
}]

@batchSize(1)
resource writesLeases 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-04-15' = [for (database, i) in databases: {
  parent: account
  name: guid(account.id, principalId, dataContributor, database, leaseContainer)
  properties: {
    principalId: principalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataContributor}'
    scope: '${account.id}/dbs/${database}/colls/${leaseContainer}'
  }
  dependsOn: [leases[i], readsFacts]
}]
