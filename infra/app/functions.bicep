// The function app on the Flex Consumption plan. Its package lies in a container that only its identity reads.
param planName string
param appName string
param location string
param tags object
param identityId string
param packageContainerUrl string
param instanceMemoryMB int
param maximumInstanceCount int
param alwaysReady array
param subnetId string
param workspaceId string

param clientId string
param insightsConnectionString string

@description('What the app connects to with its identity: a list of {name, property, address}.')
param connections array

@description('Further app settings, by name.')
param settings object

var connectionSettings = map(connections, connection => {
  '${connection.name}__${connection.property}': connection.address
  '${connection.name}__credential': 'managedidentity'
  '${connection.name}__clientId': clientId
})
var allSettings = union(
  settings,
  reduce(connectionSettings, {}, (all, next) => union(all, next)),
  {
    APPLICATIONINSIGHTS_CONNECTION_STRING: insightsConnectionString
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${clientId};Authorization=AAD'
  }
)

resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  name: planName
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
  }
}

resource app 'Microsoft.Web/sites@2024-11-01' = {
  name: appName
  location: location
  tags: union(tags, { 'azd-service-name': 'functions' })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    keyVaultReferenceIdentity: identityId
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packageContainerUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      runtime: {
        name: 'python'
        version: '3.13'
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: alwaysReady
      }
    }
    siteConfig: {
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
      ftpsState: 'Disabled'
      http20Enabled: true
      appSettings: map(items(allSettings), setting => {
        name: setting.key
        value: setting.value
      })
    }
  }
}

// Packages are published with Entra tokens, never with a publishing password.
resource publishing 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = [for name in ['ftp', 'scm']: {
  parent: app
  name: name
  properties: {
    allow: false
  }
}]

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'to-workspace'
  scope: app
  properties: {
    workspaceId: workspaceId
    metrics: [
      {
        category: 'AllMetrics'
        enabled: true
      }
    ]
  }
}

output name string = app.name
output url string = 'https://${app.properties.defaultHostName}'
