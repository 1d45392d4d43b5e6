// An Event Hubs namespace with the hubs that the definitions name. Only identities can use it.
param name string
param location string
param tags object
param sku string
param hubs array

@description('Partitions of each hub. In the Standard tier the number cannot be changed once the hub exists.')
param partitions int

param retentionHours int
param isPublic bool
param workspaceId string

@description('Whether every call to the data is logged in the workspace.')
param isAudited bool

resource namespace 'Microsoft.EventHub/namespaces@2024-01-01' = {
  name: name
  location: location
  tags: tags
  sku: {
    name: sku
    tier: sku
    capacity: 1
  }
  properties: {
    disableLocalAuth: true
    minimumTlsVersion: '1.2'
    publicNetworkAccess: isPublic ? 'Enabled' : 'Disabled'
    // Throughput units grow with the load (Standard); Premium has processing units instead.
    isAutoInflateEnabled: sku == 'Standard'
    maximumThroughputUnits: sku == 'Standard' ? 10 : 0
  }
}

resource hubResources 'Microsoft.EventHub/namespaces/eventhubs@2024-01-01' = [for hub in hubs: {
  parent: namespace
  name: hub
  properties: {
    partitionCount: partitions
    retentionDescription: {
      cleanupPolicy: 'Delete'
      retentionTimeInHours: retentionHours
    }
  }
}]

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'to-workspace'
  scope: namespace
  properties: {
    workspaceId: workspaceId
    // In tables of this service, not in the one for all.
    logAnalyticsDestinationType: 'Dedicated'
    // Azure logs calls to events in the Premium tier only.
    logs: isAudited ? [
      {
        categoryGroup: 'audit'
        enabled: true
      }
    ] : []
    metrics: [
      {
        category: 'AllMetrics'
        enabled: true
      }
    ]
  }
}
