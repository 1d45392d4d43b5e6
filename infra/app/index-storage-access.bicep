// The app's roles in one index storage account, made here or brought along. The app creates its tables itself: their
// names belong to generations.
param accountName string
param principalId string

@description('The container of dead letters. Never empty: Azure checks names even of what it does not deploy.')
param deadLetterContainer string

@description('Whether this is the one account that keeps dead letters.')
param keepsDeadLetters bool

var storageTableDataContributor = '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
var storageBlobDataContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' existing = {
  name: accountName
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}

resource deadLetters 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = if (keepsDeadLetters) {
  parent: blobs
  name: deadLetterContainer
}

resource writesTables 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(account.id, principalId, storageTableDataContributor)
  scope: account
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageTableDataContributor)
  }
}

resource writesDeadLetters 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (keepsDeadLetters) {
  name: guid(deadLetters.id, principalId, storageBlobDataContributor)
  scope: deadLetters
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageBlobDataContributor)
  }
}
