// Private endpoints and the names that lead to them from inside the virtual network.
param location string
param tags object
param vnetName string

@description('A list of {name, targetId, service}; the service is the group id that the target calls it by.')
param endpoints array

@description('The services of these endpoints, each once; a secondary has its names in the zone of the primary.')
param services array

var zoneNames = {
  blob: 'privatelink.blob.${environment().suffixes.storage}'
  queue: 'privatelink.queue.${environment().suffixes.storage}'
  table: 'privatelink.table.${environment().suffixes.storage}'
  Sql: 'privatelink.documents.azure.com'
  namespace: 'privatelink.servicebus.windows.net'
  sites: 'privatelink.azurewebsites.net'
}

resource vnet 'Microsoft.Network/virtualNetworks@2024-07-01' existing = {
  name: vnetName
}

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [for service in services: {
  name: zoneNames[service]
  location: 'global'
  tags: tags
}]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [for (service, i) in services: {
  parent: zones[i]
  name: vnetName
  location: 'global'
  tags: tags
  properties: {
    registrationEnabled: false
    virtualNetwork: {
      id: vnet.id
    }
  }
}]

// One after another: an account, and the network, take one such change at a time.
@batchSize(1)
resource privateEndpoints 'Microsoft.Network/privateEndpoints@2024-07-01' = [for endpoint in endpoints: {
  name: 'pe-${endpoint.name}'
  location: location
  tags: tags
  properties: {
    subnet: {
      id: '${vnet.id}/subnets/endpoints'
    }
    privateLinkServiceConnections: [
      {
        name: endpoint.name
        properties: {
          privateLinkServiceId: endpoint.targetId
          groupIds: [endpoint.service]
        }
      }
    ]
  }
}]

@batchSize(1)
resource zoneGroups 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-07-01' = [for (endpoint, i) in endpoints: {
  parent: privateEndpoints[i]
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: 'zone'
        properties: {
          privateDnsZoneId: zones[indexOf(services, replace(endpoint.service, '_secondary', ''))].id
        }
      }
    ]
  }
}]
