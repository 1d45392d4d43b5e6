// A storage account that only identities can use: no account key, no SAS, no anonymous blob, TLS 1.2.
param name string
param location string
param tags object
param sku string
param isPublic bool
param workspaceId string

@description('Whether every call to the data is logged in the workspace.')
param isAudited bool

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
      // What bypasses the network is Azure itself, which has no business in a private account.
      bypass: isPublic ? 'AzureServices' : 'None'
    }
  }
}

resource tables 'Microsoft.Storage/storageAccounts/tableServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}

resource queues 'Microsoft.Storage/storageAccounts/queueServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}

// Throttling and refused calls are seen in the metrics. Reads and writes are counted by the app itself, and logging each
// costs more than making them: so that is for those who must.
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'to-workspace'
  scope: tables
  properties: {
    workspaceId: workspaceId
    logs: isAudited ? [
      {
        categoryGroup: 'audit'
        enabled: true
      }
    ] : []
    metrics: [
      {
        category: 'Transaction'
        enabled: true
      }
    ]
  }
}

resource blobAudit 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (isAudited) {
  name: 'to-workspace'
  scope: blobs
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        categoryGroup: 'audit'
        enabled: true
      }
    ]
  }
}

resource queueAudit 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (isAudited) {
  name: 'to-workspace'
  scope: queues
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        categoryGroup: 'audit'
        enabled: true
      }
    ]
  }
}
