// A storage account that only identities can use: no account key, no SAS, no anonymous blob, TLS 1.2.
param name string
param location string
param tags object
param sku string
param isPublic bool
param workspaceId string

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: sku
  }
  properties: {
    accessTier: 'Hot'
    allowSharedKeyAccess: false
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: isPublic ? 'Enabled' : 'Disabled'
    networkAcls: {
      defaultAction: isPublic ? 'Allow' : 'Deny'
      bypass: 'AzureServices'
    }
  }
}

resource tables 'Microsoft.Storage/storageAccounts/tableServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}

// Throttling and refused calls are seen here. Reads and writes are counted by the app itself: logging each would cost
// more than making them.
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'to-workspace'
  scope: tables
  properties: {
    workspaceId: workspaceId
    metrics: [
      {
        category: 'Transaction'
        enabled: true
      }
    ]
  }
}
