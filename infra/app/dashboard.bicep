// What `azd monitor` opens: a dashboard that leads to the workbook, to the logs, to live metrics and to the app.
param location string
param tags object
param environmentName string
param workspaceId string
param insightsId string
param workbookId string
param appId string

var portal = environment().portal
var content = '''
How far behind each source is, what was applied, what failed and what was looked up is in the
[workbook]({0}/#resource{1}).

- [Logs]({0}/#resource{2}/logs): the lines that the app writes; the alerts read them
- [Live metrics]({0}/#resource{3}/quickPulse) of the function app
- [The function app]({0}/#resource{4}): its functions, keys and log stream

Lag, dead letters and costs are also on the app's own page, `/api/console`.
'''

resource dashboard 'Microsoft.Portal/dashboards@2020-09-01-preview' = {
  name: 'dash-${uniqueString(resourceGroup().id)}'
  location: location
  tags: union(tags, { 'hidden-title': 'Index Tables: ${environmentName}' })
  properties: {
    lenses: [
      {
        order: 0
        parts: [
          {
            position: {
              x: 0
              y: 0
              colSpan: 8
              rowSpan: 5
            }
            metadata: {
              type: 'Extension/HubsExtension/PartType/MarkdownPart'
              inputs: []
              settings: {
                content: {
                  settings: {
                    title: 'Index Tables'
                    subtitle: environmentName
                    content: format(content, portal, workbookId, workspaceId, insightsId, appId)
                  }
                }
              }
            }
          }
        ]
      }
    ]
  }
}
