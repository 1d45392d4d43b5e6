// What the Functions host and the app keep in the host storage account, and the app's roles there.
param accountName string
param principalId string
param queues array

var storageBlobDataOwner = 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
var storageQueueDataContributor = '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
var roles = [storageBlobDataOwner, storageQueueDataContributor]

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' existing = {
  name: accountName
}

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}

resource ownQueues 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' = [for name in queues: {
  parent: queueService
  name: name
}]

// Where the host moves what fails five times.
resource poisonQueues 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' = [for name in queues: {
  parent: queueService
  name: '${name}-poison'
}]

// Of the account: the host makes containers of its own (leases, keys, checkpoints).
resource assignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for role in roles: {
  name: guid(account.id, principalId, role)
  scope: account
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role)
  }
}]
