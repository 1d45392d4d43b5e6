// The optional virtual network: one subnet that the function app calls from, one for private endpoints.
param name string
param location string
param tags object

resource guard 'Microsoft.Network/networkSecurityGroups@2024-07-01' = {
  name: 'nsg-${name}'
  location: location
  tags: tags
  properties: {
    securityRules: []
  }
}

resource vnet 'Microsoft.Network/virtualNetworks@2024-07-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: ['10.0.0.0/16']
    }
    subnets: [
      {
        name: 'functions'
        properties: {
          addressPrefix: '10.0.0.0/24'
          networkSecurityGroup: {
            id: guard.id
          }
          // What Flex Consumption needs of a subnet.
          delegations: [
            {
              name: 'flex-consumption'
              properties: {
                serviceName: 'Microsoft.App/environments'
              }
            }
          ]
        }
      }
      {
        name: 'endpoints'
        properties: {
          addressPrefix: '10.0.1.0/24'
          networkSecurityGroup: {
            id: guard.id
          }
          privateEndpointNetworkPolicies: 'Enabled'
        }
      }
    ]
  }
}

output functionsSubnetId string = '${vnet.id}/subnets/functions'
