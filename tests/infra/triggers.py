"""Every trigger's connection, container, lease container, hub and queue, looked for in a deployment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.infra.settings import app_settings, is_connection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.infra.bicep.references import Deployed

CONTAINER: Final = "Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers"
HUB: Final = "Microsoft.EventHub/namespaces/eventhubs"
CONSUMER_GROUP: Final = f"{HUB}/consumergroups"
QUEUE: Final = "Microsoft.Storage/storageAccounts/queueServices/queues"


def trigger_faults(triggers: Sequence[Mapping[str, Any]], resources: Sequence[Deployed]) -> list[str]:
    """What bindings of the function app name and the deployment lacks."""
    given = app_settings(resources)
    faults = [
        f"{one['type']}: no template sets its connection {one['connection']}"
        for one in triggers
        if "connection" in one and not is_connection(one["connection"], given)
    ]
    for one in triggers:
        if one["type"] in _CHECKS:
            faults += _CHECKS[one["type"]](one, resources)
    return faults


def named(resources: Sequence[Deployed], kind: str) -> dict[str, Deployed]:
    """The resources of one type by their names without the account's."""
    return {one.name.partition("/")[2]: one for one in resources if one.type == kind}


def partition_key_paths(container: Deployed) -> list[str]:
    """The partition key of a deployed container."""
    paths: list[str] = container.body["properties"]["resource"]["partitionKey"]["paths"]
    return paths


def _cosmos_faults(trigger: Mapping[str, Any], resources: Sequence[Deployed]) -> list[str]:
    containers = named(resources, CONTAINER)
    facts = f"{trigger['databaseName']}/{trigger['containerName']}"
    leases = (
        f"{trigger.get('leaseDatabaseName') or trigger['databaseName']}/{trigger.get('leaseContainerName', 'leases')}"
    )
    faults = [f"no template makes the container {name}" for name in (facts, leases) if name not in containers]
    if leases in containers and partition_key_paths(containers[leases]) != ["/id"]:
        faults.append(f"the lease container {leases} is not partitioned by /id")
    return faults


def _event_hub_faults(trigger: Mapping[str, Any], resources: Sequence[Deployed]) -> list[str]:
    hub = trigger["eventHubName"]
    group = f"{hub}/{trigger.get('consumerGroup', '$Default')}"
    return [
        *([] if hub in named(resources, HUB) else [f"no template makes the event hub {hub}"]),
        *([] if group in named(resources, CONSUMER_GROUP) else [f"no template makes the consumer group {group}"]),
    ]


def _queue_faults(trigger: Mapping[str, Any], resources: Sequence[Deployed]) -> list[str]:
    queue = f"default/{trigger['queueName']}"
    wanted = (queue, f"{queue}-poison")
    return [f"no template makes the queue {name}" for name in wanted if name not in named(resources, QUEUE)]


_CHECKS: Final[dict[str, Callable[[Mapping[str, Any], Sequence[Deployed]], list[str]]]] = {
    "cosmosDBTrigger": _cosmos_faults,
    "eventHubTrigger": _event_hub_faults,
    "queueTrigger": _queue_faults,
}
