// The container that the app's package lies in, and the role of the identity that Azure deploys it with. The app's own
// identity has no role here: what the app may write is never what the app runs.
param accountName string
param principalId string
param containerName string

var storageBlobDataContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' existing = {
  name: accountName
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}

resource packages 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = {
  parent: blobs
  name: containerName
}

resource deploys 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(packages.id, principalId, storageBlobDataContributor)
  scope: packages
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageBlobDataContributor)
  }
}
