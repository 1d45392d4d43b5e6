// Alerts: log queries over the lines that the app writes. The fields of a line are properties when they come through
// OpenTelemetry, and JSON at the end of the message when they come through the Functions host.
param location string
param tags object
param workspaceId string
param email string
param lagSeconds int

@description('Leave it: when this was deployed. An app that was just deployed has measured nothing yet.')
param deployedAt string = utcNow('yyyy-MM-ddTHH:mm:ssZ')

var lines = 'AppTraces | extend line = parse_json(extract(@"(\\{.*\\})\\s*$", 1, Message))'
// The lag of a source, once a minute; null in a line that says why it is unknown.
var lagLines = '${lines} | where Message startswith "Lag measured" | extend source = tostring(coalesce(line.source, Properties.source)), lag = todouble(coalesce(line.lag_seconds, Properties.lag_seconds))'

var rules = [
  {
    name: 'lag'
    severity: 2
    description: 'A source is behind by more than ${lagSeconds} s. See Alerts in docs/deploy.md.'
    query: '${lagLines} | where lag > ${lagSeconds} | summarize lag = max(lag) by source'
    windowSize: 'PT15M'
  }
  {
    name: 'silence'
    severity: 1
    // Three periods of 15 minutes, and no sooner after a deployment: no line is no news while the app is being installed.
    description: 'The lag of no source was measured for 45 minutes: the app does not run, or reaches nothing. See Alerts in docs/deploy.md.'
    query: '${lagLines} | summarize measured = countif(isnotnull(lag)) | where measured == 0 and now() > datetime(${deployedAt}) + 45m'
    windowSize: 'PT45M'
  }
  {
    // Ten questions without an answer: one that fails while a service is moved is no reason to wake anybody.
    name: 'unmeasured'
    severity: 2
    description: 'The lag of a source is unknown for 15 minutes, so nobody sees when it is behind. See Alerts in docs/deploy.md.'
    query: '${lagLines} | summarize measured = countif(isnotnull(lag)), asked = count(), reason = take_any(tostring(coalesce(line.unknown, Properties.unknown))) by source | where measured == 0 and asked >= 10'
    windowSize: 'PT15M'
  }
  {
    name: 'account-down'
    severity: 2
    description: 'A storage account is or was down, and entries of some indexes wait for it. See "One storage account is down" in docs/troubleshooting.md.'
    query: '${lines} | where Message startswith "Storage account owed" | extend age = todouble(coalesce(line.age_seconds, Properties.age_seconds)) | where age > 60 | summarize facts = max(tolong(coalesce(line.facts, Properties.facts))), indexes = take_any(tostring(coalesce(line.indexes, Properties.indexes))) by account = tostring(coalesce(line.account, Properties.account))'
    windowSize: 'PT15M'
  }
  {
    name: 'dead-letters'
    severity: 3
    description: 'Changes became dead letters. See Alerts in docs/deploy.md.'
    query: '${lines} | extend letters = toint(coalesce(line.dead_letters, Properties.dead_letters)) | where letters > 0 | summarize letters = sum(letters) by source = tostring(coalesce(line.source, Properties.source))'
    windowSize: 'PT15M'
  }
  {
    name: 'differences'
    severity: 2
    description: 'A verification found that an index is wrong. See "Verify and repair" in docs/operations.md.'
    query: '${lines} | where Message startswith "Verified" | extend total = toint(coalesce(line.total, Properties.total)) | where total > 0 | summarize total = max(total) by index = tostring(coalesce(line.index, Properties.index))'
    windowSize: 'PT15M'
  }
  {
    name: 'failures'
    severity: 2
    description: 'Functions fail: changes wait, or lookups are not answered. See Alerts in docs/deploy.md.'
    query: 'AppRequests | where Success == false and not(ResultCode startswith "4") | summarize failures = sum(ItemCount) by OperationName | where failures > 5'
    windowSize: 'PT15M'
  }
  {
    name: 'throttling'
    severity: 3
    description: 'Calls to the Table service fail and are repeated: it throttles, or is down. Spread the load by shards or placement.'
    query: 'AppTraces | where Message startswith "A call to the Table service failed" | summarize repeated = count() | where repeated > 100'
    windowSize: 'PT15M'
  }
]

resource actions 'Microsoft.Insights/actionGroups@2023-01-01' = if (!empty(email)) {
  name: 'index-tables'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: 'indextables'
    enabled: true
    emailReceivers: [
      {
        name: 'operators'
        emailAddress: email
        useCommonAlertSchema: true
      }
    ]
  }
}

resource alerts 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [for rule in rules: {
  name: 'index-tables-${rule.name}'
  location: location
  tags: tags
  kind: 'LogAlert'
  properties: {
    displayName: 'Index Tables: ${rule.name}'
    description: rule.description
    severity: rule.severity
    enabled: true
    scopes: [workspaceId]
    evaluationFrequency: 'PT5M'
    windowSize: rule.windowSize
    autoMitigate: true
    // The tables are empty until the app has run once.
    skipQueryValidation: true
    criteria: {
      allOf: [
        {
          query: rule.query
          timeAggregation: 'Count'
          operator: 'GreaterThan'
          threshold: 0
          failingPeriods: {
            numberOfEvaluationPeriods: 1
            minFailingPeriodsToAlert: 1
          }
        }
      ]
    }
    actions: {
      actionGroups: empty(email) ? [] : [actions.id]
    }
  }
}]
