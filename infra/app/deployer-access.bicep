// What the person who deploys may do with data: load facts and events, and read indexes. Nothing of it is for the app.
param principalId string
param storageNames array
param cosmosName string
param containers array
param eventHubsName string
param hubs array

var storageTableDataReader = '76199698-9eea-4c19-bc75-cec21354c6b6'
var eventHubsDataSender = '2b629674-e913-4c01-ae53-ef4638d8f975'
var dataContributor = '00000000-0000-0000-0000-000000000002'

resource accounts 'Microsoft.Storage/storageAccounts@2025-01-01' existing = [for name in storageNames: {
  name: name
}]

resource readsIndexes 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for (name, i) in storageNames: {
  name: guid(accounts[i].id, principalId, storageTableDataReader)
  scope: accounts[i]
  properties: {
    principalId: principalId
    principalType: 'User'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageTableDataReader)
  }
}]

resource cosmos 'Microsoft.DocumentDB/databaseAccounts@2025-04-15' existing = if (!empty(containers)) {
  name: cosmosName
}

// Not `cosmos.id`: the compiler may warn of what a conditional resource says of itself.
var cosmosId = '${resourceGroup().id}/providers/Microsoft.DocumentDB/databaseAccounts/${cosmosName}'

// The role that cosmos-access.bicep defines, which must be done before: clients ask the account about itself first.
var metadataReader = '${cosmosId}/sqlRoleDefinitions/${guid(cosmosId, 'index-tables-metadata-reader')}'

resource readsMetadata 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-04-15' = if (!empty(containers)) {
  parent: cosmos
  name: guid(cosmosId, principalId, metadataReader)
  properties: {
    principalId: principalId
    roleDefinitionId: metadataReader
    scope: cosmosId
  }
}

// One after another, as there.
@batchSize(1)
resource writesFacts 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-04-15' = [for container in containers: {
  parent: cosmos
  name: guid(cosmosId, principalId, dataContributor, container.database, container.name)
  properties: {
    principalId: principalId
    roleDefinitionId: '${cosmosId}/sqlRoleDefinitions/${dataContributor}'
    scope: '${cosmosId}/dbs/${container.database}/colls/${container.name}'
  }
  dependsOn: [readsMetadata]
}]

resource namespace 'Microsoft.EventHub/namespaces@2024-01-01' existing = if (!empty(hubs)) {
  name: eventHubsName
}

resource hubResources 'Microsoft.EventHub/namespaces/eventhubs@2024-01-01' existing = [for hub in hubs: {
  parent: namespace
  name: hub
}]

resource sendsEvents 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for (hub, i) in hubs: {
  name: guid(hubResources[i].id, principalId, eventHubsDataSender)
  scope: hubResources[i]
  properties: {
    principalId: principalId
    principalType: 'User'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', eventHubsDataSender)
  }
}]
