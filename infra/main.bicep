// Index Tables in Azure: one resource group with everything that the definitions need, and no key anywhere.
// What depends on the definitions comes from indexes.yaml itself. docs/parameters.md lists the parameters.
targetScope = 'subscription'

@minLength(1)
@maxLength(40)
@description('Names the deployment; part of the name of its resource group.')
param environmentName string

@allowed([
  'australiaeast'
  'australiasoutheast'
  'brazilsouth'
  'canadacentral'
  'centralindia'
  'centralus'
  'eastasia'
  'eastus'
  'eastus2'
  'francecentral'
  'germanywestcentral'
  'italynorth'
  'japaneast'
  'koreacentral'
  'northcentralus'
  'northeurope'
  'norwayeast'
  'southafricanorth'
  'southcentralus'
  'southeastasia'
  'southindia'
  'spaincentral'
  'swedencentral'
  'uaenorth'
  'uksouth'
  'ukwest'
  'westcentralus'
  'westeurope'
  'westus'
  'westus2'
  'westus3'
])
@metadata({
  azd: {
    type: 'location'
  }
})
@description('The region of all resources: one that has the Flex Consumption plan. The same list is in regions.json.')
param location string

@description('Who deploys: `azd` fills it in. A person gets the roles to load facts and to read indexes; empty: no one does.')
param principalId string = ''

@allowed(['User', 'Group', 'ServicePrincipal'])
@description('What principalId is: `azd` fills it in. A service principal, such as that of a workflow, gets no roles.')
param principalType string = 'User'

@description('Whether the person who deploys gets roles for data: see "The person who deploys" in docs/deploy.md.')
param deployerAccess bool = true

@description('Tags of all resources.')
param tags object = {}

@allowed([512, 2048, 4096])
@description('Memory of one instance of the function app, in MB. It decides the CPU, too.')
param instanceMemoryMB int = 2048

@minValue(1)
@maxValue(1000)
@description('The most instances that the function app may scale out to. An index account takes 20 000 transactions/s.')
param maximumInstanceCount int = 40

@description('Instances that never go away, as a list of {name, instanceCount}: http, or function:<name>. They cost money when idle.')
param alwaysReady array = []

@description('Spreads the instances of the function app over availability zones; where the region has them.')
param isZoneRedundant bool = false

@secure()
@description('Seals page tokens of lookups. Empty: a new one with each deployment, which ends the pages that callers have open.')
param pageTokenKey string = ''

@secure()
@description('Leave it: a random value, for when pageTokenKey is empty.')
param freshPageTokenKey string = newGuid()

@description('App settings beyond those that the templates set, by name; for what has a default in shared/app/settings.py.')
param appSettings object = {}

@allowed(['', 'Standard_LRS', 'Standard_ZRS', 'Standard_GRS', 'Standard_RAGRS', 'Standard_GZRS', 'Standard_RAGZRS'])
@description('Redundancy of the storage accounts that hold index tables. Empty: Standard_ZRS, or Standard_LRS in a region without zones. Reading from a secondary needs one with RA.')
param indexStorageSku string = ''

@description('Storage accounts of your own for index tables: by connection name, {name, resourceGroup}.')
param existingIndexStorage object = {}

@allowed(['serverless', 'autoscale'])
@description('How Cosmos DB capacity is paid. It cannot be changed later.')
param cosmosCapacity string = 'serverless'

@minValue(1000)
@description('With autoscale: the most RU/s of each database, shared by its containers.')
param cosmosMaxThroughput int = 1000

@description('Continuous backup. A source with deletes: {feed: allVersions} turns it on by itself. It cannot be turned off later.')
param cosmosContinuousBackup bool = false

@description('A Cosmos DB account of your own that holds the facts; empty: one is created.')
param existingCosmosAccount string = ''

@description('The resource group of existingCosmosAccount.')
param existingCosmosResourceGroup string = ''

@allowed(['Standard', 'Premium'])
@description('Tier of Event Hubs. Basic has no consumer groups of its own.')
param eventHubsSku string = 'Standard'

@minValue(1)
@maxValue(32)
@description('Partitions of each event hub: how many instances can read it at once. In the Standard tier this cannot be changed later.')
param eventHubPartitions int = 8

@minValue(1)
@maxValue(168)
@description('Hours that events are kept: the longest outage that loses nothing. At most 168, in either tier: LEDGER_RETENTION_DAYS is longer.')
param eventRetentionHours int = 168

@description('An Event Hubs namespace of your own with the hubs that the definitions name; empty: one is created.')
param existingEventHubsNamespace string = ''

@description('The resource group of existingEventHubsNamespace.')
param existingEventHubsResourceGroup string = ''

@description('A virtual network with private endpoints: storage, Cosmos DB and Event Hubs are then closed to the internet.')
param usePrivateNetwork bool = false

@description('Closes the app itself to the internet, too: callers reach it by a private endpoint. Includes usePrivateNetwork.')
param isPrivateApp bool = false

@description('The app registration whose tokens callers send, by its client id; empty: callers send keys of the host.')
param entraClientId string = ''

@description('Tenants whose tokens are taken, by their ids; empty: that of the subscription.')
param allowedTenants array = []

@description('Ranges of addresses that may call the app, such as 203.0.113.0/24; empty: all may. Each call needs a key all the same.')
param allowedAddresses array = []

@description('Logs every call to the data of storage, Cosmos DB and, in the Premium tier, Event Hubs in the workspace. That costs more than the calls.')
param auditLogs bool = false

@description('Where alerts are mailed to; empty: they only show in the portal.')
param alertEmail string = ''

@minValue(1)
@description('Lag of a source, in seconds, from which an alert is raised.')
param lagAlertSeconds int = 300

var definitions = any(loadYamlContent('../indexes.yaml'))
var sources = map(items(definitions.sources), source => source.value)

// Cosmos DB: the databases, and each container once, with the partition key of the first source that names it.
// What a definition may leave out may also be null, here and below.
var cosmosSources = filter(sources, source => source.?cosmos != null)
var databases = union(map(cosmosSources, source => source.cosmos.database), [])
var containerKeys = union(map(cosmosSources, source => '${source.cosmos.database}/${source.cosmos.container}'), [])
var containerSources = map(
  containerKeys,
  key => first(filter(cosmosSources, source => '${source.cosmos.database}/${source.cosmos.container}' == key))
)
var containers = map(containerSources, source => {
  database: source.cosmos.database
  name: source.cosmos.container
  // One path or a list of paths, and a list is told by how it prints.
  partitionKeyPaths: map(
    startsWith(string(source.?partitionKey ?? 'id'), '[') ? source.partitionKey : [source.?partitionKey ?? 'id'],
    path => '/${replace(replace(trim(path), '"', ''), '.', '/')}'
  )
})
var readsAllVersions = !empty(filter(cosmosSources, source => (source.?deletes.?feed ?? '') == 'allVersions'))

var hubs = union(map(filter(sources, source => source.?eventHub != null), source => source.eventHub), [])

// Index storage: the app's own connection, and those that a placement names in any of its three forms.
var indexes = map(items(definitions.indexes), index => index.value)
var placements = map(filter(indexes, index => index.?placement != null), index => index.placement)
var hashAccounts = map(filter(placements, one => one.by == 'hash'), one => one.accounts)
var rangeAccounts = map(filter(placements, one => one.by == 'range'), one => map(one.map, slice => slice.account))
var listed = filter(placements, one => one.by == 'list')
var listAccounts = map(listed, one => concat(map(items(one.map), entry => entry.value), [one.default]))
var indexConnections = union(['INDEX_STORAGE'], flatten(concat(hashAccounts, rangeAccounts, listAccounts)))

var hasZones = !contains(loadJsonContent('regions.json').withoutZones, location)
var redundancy = empty(indexStorageSku) ? (hasZones ? 'Standard_ZRS' : 'Standard_LRS') : indexStorageSku

var token = uniqueString(subscription().id, environmentName, location)
var groupName = 'rg-${environmentName}'
var allTags = union(tags, { 'azd-env-name': environmentName })

var isPrivate = usePrivateNetwork || isPrivateApp
var ownTenant = subscription().tenantId
var hostStorageName = 'sthost${token}'
var packageStorageName = 'stpkg${token}'
var indexStorage = map(indexConnections, connection => {
  connection: connection
  isCreated: !contains(existingIndexStorage, connection)
  // Made from the connection's name: an account must not change because another one is added.
  name: existingIndexStorage[?connection].?name ?? 'stix${uniqueString(token, connection)}'
  resourceGroup: existingIndexStorage[?connection].?resourceGroup ?? groupName
})
// Each account once: two connections may lead to one account of your own, and a role is given there once.
var distinctStorage = map(
  union(map(indexStorage, account => toLower(account.name)), []),
  name => filter(indexStorage, account => toLower(account.name) == name)[0]
)
var usesCosmos = !empty(containers)
var createsCosmos = usesCosmos && empty(existingCosmosAccount)
var cosmosName = empty(existingCosmosAccount) ? 'cosmos-${token}' : existingCosmosAccount
var cosmosEndpoint = 'https://${cosmosName}.documents.azure.com:443/'
var usesEventHubs = !empty(hubs)
var createsEventHubs = usesEventHubs && empty(existingEventHubsNamespace)
var eventHubsName = empty(existingEventHubsNamespace) ? 'evhns-${token}' : existingEventHubsNamespace
var eventHubsAddress = '${eventHubsName}.servicebus.windows.net'
var packageContainer = 'packages'
var queues = ['index-sweep', 'index-tasks']
var deadLetterContainer = 'dead-letters'
var consumerGroup = 'index-tables'

resource group 'Microsoft.Resources/resourceGroups@2025-04-01' = {
  name: groupName
  location: location
  tags: allTags
}

module identity 'app/identity.bicep' = {
  name: 'identity'
  scope: group
  params: {
    name: 'id-${token}'
    location: location
    tags: allTags
  }
}

module packageIdentity 'app/identity.bicep' = {
  name: 'package-identity'
  scope: group
  params: {
    name: 'id-deploy-${token}'
    location: location
    tags: allTags
  }
}

module monitoring 'app/monitoring.bicep' = {
  name: 'monitoring'
  scope: group
  params: {
    workspaceName: 'log-${token}'
    insightsName: 'appi-${token}'
    location: location
    tags: allTags
    principalId: identity.outputs.principalId
  }
}

module network 'app/network.bicep' = if (isPrivate) {
  name: 'network'
  scope: group
  params: {
    name: 'vnet-${token}'
    location: location
    tags: allTags
  }
}

module hostStorage 'app/storage.bicep' = {
  name: 'host-storage'
  scope: group
  params: {
    name: hostStorageName
    location: location
    tags: allTags
    sku: isZoneRedundant ? 'Standard_ZRS' : 'Standard_LRS'
    isPublic: !isPrivate
    workspaceId: monitoring.outputs.workspaceId
    isAudited: auditLogs
  }
}

module hostStorageAccess 'app/host-storage-access.bicep' = {
  name: 'host-storage-access'
  scope: group
  params: {
    accountName: hostStorageName
    principalId: identity.outputs.principalId
    queues: queues
  }
  dependsOn: [hostStorage]
}

module packageStorage 'app/storage.bicep' = {
  name: 'package-storage'
  scope: group
  params: {
    name: packageStorageName
    location: location
    tags: allTags
    // The package must be there when a zone is not.
    sku: isZoneRedundant ? 'Standard_ZRS' : 'Standard_LRS'
    isPublic: !isPrivate
    workspaceId: monitoring.outputs.workspaceId
    isAudited: auditLogs
  }
}

module packageAccess 'app/package-access.bicep' = {
  name: 'package-access'
  scope: group
  params: {
    accountName: packageStorageName
    principalId: packageIdentity.outputs.principalId
    containerName: packageContainer
  }
  dependsOn: [packageStorage]
}

module indexAccounts 'app/storage.bicep' = [for account in indexStorage: if (account.isCreated) {
  name: 'index-storage-${uniqueString(token, account.connection)}'
  scope: group
  params: {
    name: account.name
    location: location
    tags: allTags
    sku: redundancy
    isPublic: !isPrivate
    workspaceId: monitoring.outputs.workspaceId
    isAudited: auditLogs
  }
}]

// Named after this deployment, because the group may be yours: another deployment may do the same there.
module indexAccess 'app/index-storage-access.bicep' = [for account in distinctStorage: {
  name: 'index-access-${uniqueString(token, account.name)}'
  scope: resourceGroup(account.resourceGroup)
  params: {
    accountName: account.name
    principalId: identity.outputs.principalId
    deadLetterContainer: deadLetterContainer
    keepsDeadLetters: toLower(account.name) == toLower(indexStorage[0].name)
  }
  dependsOn: [indexAccounts]
}]

module cosmos 'app/cosmos.bicep' = if (createsCosmos) {
  name: 'cosmos'
  scope: group
  params: {
    name: cosmosName
    location: location
    tags: allTags
    capacity: cosmosCapacity
    maxThroughput: cosmosMaxThroughput
    hasContinuousBackup: cosmosContinuousBackup || readsAllVersions
    databases: databases
    containers: containers
    isPublic: !isPrivate
    workspaceId: monitoring.outputs.workspaceId
    isAudited: auditLogs
  }
}

module cosmosAccess 'app/cosmos-access.bicep' = if (usesCosmos) {
  name: 'cosmos-access-${token}'
  scope: resourceGroup(empty(existingCosmosAccount) ? groupName : existingCosmosResourceGroup)
  params: {
    accountName: cosmosName
    principalId: identity.outputs.principalId
    databases: databases
    containers: containers
  }
  // Cosmos DB refuses an identity that it does not know yet, and an account of yours takes no time to create: so the
  // identity gets older first.
  dependsOn: [cosmos, hostStorageAccess, indexAccess]
}

module eventHubs 'app/eventhubs.bicep' = if (createsEventHubs) {
  name: 'event-hubs'
  scope: group
  params: {
    name: eventHubsName
    location: location
    tags: allTags
    sku: eventHubsSku
    hubs: hubs
    partitions: eventHubPartitions
    retentionHours: eventRetentionHours
    isPublic: !isPrivate
    workspaceId: monitoring.outputs.workspaceId
    isAudited: auditLogs
  }
}

module eventHubsAccess 'app/eventhubs-access.bicep' = if (usesEventHubs) {
  name: 'event-hubs-access-${token}'
  scope: resourceGroup(empty(existingEventHubsNamespace) ? groupName : existingEventHubsResourceGroup)
  params: {
    namespaceName: eventHubsName
    principalId: identity.outputs.principalId
    hubs: hubs
    consumerGroup: consumerGroup
  }
  dependsOn: [eventHubs]
}

// The person who deploys: in what is created here, and never in what you bring.
module deployer 'app/deployer-access.bicep' = if (deployerAccess && !empty(principalId) && principalType == 'User') {
  name: 'deployer-access'
  scope: group
  params: {
    principalId: principalId
    storageNames: map(createdStorage, account => account.name)
    cosmosName: cosmosName
    containers: createsCosmos ? containers : []
    eventHubsName: eventHubsName
    hubs: createsEventHubs ? hubs : []
  }
  dependsOn: [indexAccess, cosmosAccess, eventHubsAccess]
}

// Private endpoints: of what is created here. What you bring has a network of its own.
// Spelled out: `group.id` is written as the id of a resource of the subscription, which private endpoints do not take.
var groupId = '${subscription().id}/resourceGroups/${groupName}'
var storageId = '${groupId}/providers/Microsoft.Storage/storageAccounts'
var cosmosId = '${groupId}/providers/Microsoft.DocumentDB/databaseAccounts/${cosmosName}'
var eventHubsId = '${groupId}/providers/Microsoft.EventHub/namespaces/${eventHubsName}'
var hostEndpoints = map(['blob', 'queue'], service => {
  name: 'host-${service}'
  targetId: '${storageId}/${hostStorageName}'
  service: service
})
var createdStorage = filter(indexStorage, account => account.isCreated)
var tableServices = startsWith(redundancy, 'Standard_RA') ? ['table', 'table_secondary'] : ['table']
var packageEndpoint = {
  name: 'package-blob'
  targetId: '${storageId}/${packageStorageName}'
  service: 'blob'
}
var indexEndpoints = flatten(map(
  createdStorage,
  account => map(concat(account.connection == 'INDEX_STORAGE' ? ['blob'] : [], tableServices), service => {
    name: toLower(replace('index-${account.connection}-${service}', '_', '-'))
    targetId: '${storageId}/${account.name}'
    service: service
  })
))
var allEndpoints = concat(
  hostEndpoints,
  [packageEndpoint],
  indexEndpoints,
  createsCosmos ? [{ name: 'cosmos', targetId: cosmosId, service: 'Sql' }] : [],
  createsEventHubs ? [{ name: 'event-hubs', targetId: eventHubsId, service: 'namespace' }] : []
)

module endpoints 'app/endpoints.bicep' = if (isPrivate) {
  name: 'endpoints'
  scope: group
  params: {
    location: location
    tags: allTags
    vnetName: 'vnet-${token}'
    endpoints: allEndpoints
    services: union(map(allEndpoints, endpoint => replace(endpoint.service, '_secondary', '')), [])
  }
  // After the roles: an account that is still taking one change refuses the next.
  dependsOn: [network, hostStorageAccess, packageAccess, indexAccess, cosmosAccess, eventHubsAccess, deployer]
}

// What the app connects to, and by which of the properties that Azure Functions knows for identities.
var connections = concat(
  [{ name: 'AzureWebJobsStorage', property: 'accountName', address: hostStorageName }],
  map(indexStorage, account => { name: account.connection, property: 'accountName', address: account.name }),
  usesCosmos ? [{ name: 'COSMOS', property: 'accountEndpoint', address: cosmosEndpoint }] : [],
  usesEventHubs ? [{ name: 'EVENTHUB', property: 'fullyQualifiedNamespace', address: eventHubsAddress }] : []
)

module functions 'app/functions.bicep' = {
  name: 'functions'
  scope: group
  params: {
    planName: 'plan-${token}'
    appName: 'func-${token}'
    location: location
    tags: allTags
    identityId: identity.outputs.id
    packageIdentityId: packageIdentity.outputs.id
    packageContainerUrl: 'https://${packageStorageName}.blob.${environment().suffixes.storage}/${packageContainer}'
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: maximumInstanceCount
    alwaysReady: alwaysReady
    isZoneRedundant: isZoneRedundant
    isPublic: !isPrivateApp
    allowedAddresses: allowedAddresses
    entraClientId: entraClientId
    allowedTenants: empty(allowedTenants) ? [ownTenant] : allowedTenants
    subnetId: isPrivate ? network!.outputs.functionsSubnetId : ''
    workspaceId: monitoring.outputs.workspaceId
    clientId: identity.outputs.clientId
    connections: connections
    insightsConnectionString: monitoring.outputs.connectionString
    pageTokenKey: empty(pageTokenKey) ? freshPageTokenKey : pageTokenKey
    settings: appSettings
  }
  dependsOn: [hostStorageAccess, packageAccess, indexAccess, cosmosAccess, eventHubsAccess, endpoints]
}

module appEndpoint 'app/endpoints.bicep' = if (isPrivateApp) {
  name: 'app-endpoint'
  scope: group
  params: {
    location: location
    tags: allTags
    vnetName: 'vnet-${token}'
    endpoints: [
      {
        name: 'app'
        targetId: functions.outputs.id
        service: 'sites'
      }
    ]
    services: ['sites']
  }
}

module alerts 'app/alerts.bicep' = {
  name: 'alerts'
  scope: group
  params: {
    location: location
    tags: allTags
    workspaceId: monitoring.outputs.workspaceId
    email: alertEmail
    lagSeconds: lagAlertSeconds
  }
}

module workbook 'app/workbook.bicep' = {
  name: 'workbook'
  scope: group
  params: {
    location: location
    tags: allTags
    workspaceId: monitoring.outputs.workspaceId
  }
}

module dashboard 'app/dashboard.bicep' = {
  name: 'dashboard'
  scope: group
  params: {
    location: location
    tags: allTags
    environmentName: environmentName
    workspaceId: monitoring.outputs.workspaceId
    insightsId: monitoring.outputs.insightsId
    workbookId: workbook.outputs.id
    appId: functions.outputs.id
  }
}

output AZURE_RESOURCE_GROUP string = groupName
output FUNCTION_APP_NAME string = functions.outputs.name
output FUNCTION_APP_URL string = functions.outputs.url
output INDEX_STORAGE_ACCOUNTS array = map(indexStorage, account => account.name)
output COSMOS_ENDPOINT string = usesCosmos ? cosmosEndpoint : ''
output EVENTHUB_NAMESPACE string = usesEventHubs ? eventHubsAddress : ''
