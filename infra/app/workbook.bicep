// A workbook in the portal: lag, changes, dead letters and lookups over time.
param location string
param tags object
param workspaceId string

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(resourceGroup().id, 'index-tables')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'Index Tables'
    category: 'workbook'
    sourceId: workspaceId
    serializedData: loadTextContent('workbook.json')
  }
}

output id string = workbook.id
