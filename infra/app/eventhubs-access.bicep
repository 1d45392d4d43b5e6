// The consumer groups of each hub, and the app's role there: it receives, and never sends.
param namespaceName string
param principalId string
param hubs array
param consumerGroup string

var eventHubsDataReceiver = 'a638d3c7-ab3a-418d-83e6-5f17a39d4fde'

resource namespace 'Microsoft.EventHub/namespaces@2024-01-01' existing = {
  name: namespaceName
}

resource hubResources 'Microsoft.EventHub/namespaces/eventhubs@2024-01-01' existing = [for hub in hubs: {
  parent: namespace
  name: hub
}]

resource consumerGroups 'Microsoft.EventHub/namespaces/eventhubs/consumergroups@2024-01-01' = [for (hub, i) in hubs: {
  parent: hubResources[i]
  name: consumerGroup
  properties: {
    userMetadata: 'Read by the function app of Index Tables'
  }
}]

// Where nobody reads but to see how long the oldest event has been waiting.
resource lagGroups 'Microsoft.EventHub/namespaces/eventhubs/consumergroups@2024-01-01' = [for (hub, i) in hubs: {
  parent: hubResources[i]
  name: '${consumerGroup}-lag'
  properties: {
    userMetadata: 'Read by the status of Index Tables'
  }
}]

resource receives 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for (hub, i) in hubs: {
  name: guid(hubResources[i].id, principalId, eventHubsDataReceiver)
  scope: hubResources[i]
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', eventHubsDataReceiver)
  }
}]
