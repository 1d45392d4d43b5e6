// A Cosmos DB account with the databases and containers that the definitions name. Only identities can use it.
param name string
param location string
param tags object
param capacity string
param maxThroughput int
param hasContinuousBackup bool
param databases array
param containers array
param isPublic bool
param workspaceId string

@description('Whether every call to the data is logged in the workspace.')
param isAudited bool

var isServerless = capacity == 'serverless'

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-04-15' = {
  // checkov:skip=CKV_AZURE_99:The parameter usePrivateNetwork of main.bicep closes the account; without it only Entra tokens open it
  // checkov:skip=CKV_AZURE_101:The same
  name: name
  location: location
  tags: tags
  kind: 'GlobalDocumentDB'
  properties: {
    databaseAccountOfferType: 'Standard'
    locations: [
      {
        locationName: location
        failoverPriority: 0
      }
    ]
    consistencyPolicy: {
      defaultConsistencyLevel: 'Session'
    }
    capabilities: isServerless ? [
      {
        name: 'EnableServerless'
      }
    ] : []
    disableLocalAuth: true
    disableKeyBasedMetadataWriteAccess: true
    minimalTlsVersion: 'Tls12'
    publicNetworkAccess: isPublic ? 'Enabled' : 'Disabled'
    backupPolicy: hasContinuousBackup ? {
      type: 'Continuous'
      continuousModeProperties: {
        tier: 'Continuous7Days'
      }
    } : {
      type: 'Periodic'
      periodicModeProperties: {
        backupIntervalInMinutes: 240
        backupRetentionIntervalInHours: 8
        backupStorageRedundancy: 'Local'
      }
    }
  }
}

resource databaseResources 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-04-15' = [for database in databases: {
  parent: account
  name: database
  properties: {
    resource: {
      id: database
    }
    options: isServerless ? {} : {
      autoscaleSettings: {
        maxThroughput: maxThroughput
      }
    }
  }
}]

resource containerResources 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-04-15' = [for container in containers: {
  parent: databaseResources[indexOf(databases, container.database)]
  name: container.name
  properties: {
    resource: {
      id: container.name
      partitionKey: {
        paths: container.partitionKeyPaths
        kind: length(container.partitionKeyPaths) == 1 ? 'Hash' : 'MultiHash'
        version: 2
      }
    }
  }
}]

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'to-workspace'
  scope: account
  properties: {
    workspaceId: workspaceId
    // In tables of this service, not in the one for all.
    logAnalyticsDestinationType: 'Dedicated'
    logs: isAudited ? [
      {
        categoryGroup: 'audit'
        enabled: true
      }
    ] : []
    metrics: [
      {
        category: 'Requests'
        enabled: true
      }
    ]
  }
}
