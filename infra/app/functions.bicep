// The function app on the Flex Consumption plan. Its package lies in a container that it cannot write to itself.
param planName string
param appName string
param location string
param tags object
param identityId string

@description('The identity that Azure reads and writes the package with.')
param packageIdentityId string

param packageContainerUrl string
param instanceMemoryMB int
param maximumInstanceCount int
param alwaysReady array
param isZoneRedundant bool
param subnetId string
param isPublic bool

@description('The app registration whose tokens callers send; empty: callers send keys.')
param entraClientId string

@description('Tenants whose tokens are taken.')
param allowedTenants array

@description('Ranges of addresses that may call; empty: all may.')
param allowedAddresses array

param workspaceId string
param clientId string
param insightsConnectionString string

@secure()
param pageTokenKey string

@description('What the app connects to with its identity: a list of {name, property, address}.')
param connections array

@description('Further app settings, by name.')
param settings object

// Loops, not lambdas: the security checks (checkov) cannot read a file with lambdas.
var furtherSettings = [for setting in items(settings): {
  name: setting.key
  value: setting.value
}]
var addresses = [for connection in connections: {
  name: '${connection.name}__${connection.property}'
  value: connection.address
}]
var credentials = [for connection in connections: {
  name: '${connection.name}__credential'
  value: 'managedidentity'
}]
var clientIds = [for connection in connections: {
  name: '${connection.name}__clientId'
  value: clientId
}]
var restrictions = [for (address, i) in allowedAddresses: {
  name: 'allowed-${i}'
  ipAddress: address
  action: 'Allow'
  priority: 100 + i
}]
// Set together with App Service Authentication below: the app believes what that says about a caller.
var accessSettings = empty(entraClientId) ? [] : [
  {
    name: 'ACCESS'
    value: 'entra'
  }
  {
    name: 'ACCESS_TENANTS'
    value: join(allowedTenants, ',')
  }
]
// Tokens of one tenant name it as their issuer; those of several are told apart by the app.
var issuer = '${environment().authentication.loginEndpoint}${length(allowedTenants) == 1 ? allowedTenants[0] : 'organizations'}/v2.0'
var ownSettings = [
  {
    name: 'PAGE_TOKEN_KEY'
    value: pageTokenKey
  }
  {
    name: 'APPLICATIONINSIGHTS_CONNECTION_STRING'
    value: insightsConnectionString
  }
  {
    name: 'APPLICATIONINSIGHTS_AUTHENTICATION_STRING'
    value: 'ClientId=${clientId};Authorization=AAD'
  }
  // Every trace. By itself the exporter keeps five a second, and of the log lines, which the alerts read, only theirs.
  {
    name: 'OTEL_TRACES_SAMPLER'
    value: 'microsoft.fixed_percentage'
  }
  {
    name: 'OTEL_TRACES_SAMPLER_ARG'
    value: '1.0'
  }
]

resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  // checkov:skip=CKV_AZURE_225:A parameter of main.bicep, because not every region has zones
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
    zoneRedundant: isZoneRedundant
  }
}

resource app 'Microsoft.Web/sites@2024-11-01' = {
  // checkov:skip=CKV_AZURE_222:Lookups are called from outside, each with a function key; the parameter isPrivateApp of main.bicep closes the app
  // checkov:skip=CKV_AZURE_17:Callers have function keys, not certificates
  // checkov:skip=CKV_AZURE_212:The plan adds and removes instances by itself; alwaysReady is a parameter
  // checkov:skip=CKV_AZURE_78:Flex Consumption refuses ftpsState (ARM 51021) and has no FTP; the publishing policy below closes it, too
  // checkov:skip=CKV_AZURE_18:Whether Flex Consumption takes http20Enabled is not known, so it is left out
  // checkov:skip=CKV_AZURE_67:The same
  // checkov:skip=CKV_AZURE_213:The plan replaces instances by itself; callers may ask /api/health/ready
  name: appName
  location: location
  tags: union(tags, { 'azd-service-name': 'functions' })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
      '${packageIdentityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    publicNetworkAccess: isPublic ? 'Enabled' : 'Disabled'
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packageContainerUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: packageIdentityId
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
      // Of callers, not of deployments: those need a token of Entra ID, and come from anywhere.
      ipSecurityRestrictions: restrictions
      ipSecurityRestrictionsDefaultAction: empty(allowedAddresses) ? 'Allow' : 'Deny'
      appSettings: concat(furtherSettings, addresses, credentials, clientIds, accessSettings, ownSettings)
    }
  }
}

// App Service Authentication, in front of the app: it checks tokens, and takes away a description of the caller that comes
// from outside. Calls without a token reach the app, which answers health and pages, and refuses the rest.
resource authentication 'Microsoft.Web/sites/config@2024-11-01' = if (!empty(entraClientId)) {
  // checkov:skip=CKV_AZURE_63:A check of apps, which takes this part of one for a whole: it sets authentication alone
  // checkov:skip=CKV_AZURE_65:The same
  // checkov:skip=CKV_AZURE_66:The same
  // checkov:skip=CKV_AZURE_80:The same
  // checkov:skip=CKV_AZURE_88:The same
  // checkov:skip=CKV_AZURE_222:The same
  // checkov:skip=CKV_AZURE_13:This resource is the authentication that the check asks for
  parent: app
  name: 'authsettingsV2'
  properties: {
    platform: {
      enabled: true
    }
    globalValidation: {
      requireAuthentication: false
      unauthenticatedClientAction: 'AllowAnonymous'
    }
    identityProviders: {
      azureActiveDirectory: {
        enabled: true
        registration: {
          clientId: entraClientId
          openIdIssuer: issuer
        }
        validation: {
          allowedAudiences: [
            entraClientId
            'api://${entraClientId}'
          ]
        }
      }
    }
    login: {
      tokenStore: {
        enabled: false
      }
    }
  }
}

// Packages are published with Entra tokens, never with a publishing password.
// Two resources and no loop: the compiler checks the type of a policy only when its name is a literal.
resource ftpPublishing 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: app
  name: 'ftp'
  properties: {
    allow: false
  }
}

resource scmPublishing 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: app
  name: 'scm'
  properties: {
    allow: false
  }
}

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

output id string = app.id
output name string = app.name
output url string = 'https://${app.properties.defaultHostName}'
