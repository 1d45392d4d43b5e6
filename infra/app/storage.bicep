// A storage account that only identities can use: no account key, no SAS, no anonymous blob, TLS 1.2.
param name string
param location string
param tags object
param sku string
param isPublic bool
param workspaceId string

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  // checkov:skip=CKV_AZURE_35:The parameter usePrivateNetwork of main.bicep closes the account; without it only Entra tokens open it
  // checkov:skip=CKV_AZURE_206:The caller chooses; what is in the host account can be made again
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
