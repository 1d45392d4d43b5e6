"""Cosmos DB triggers: one function per source with a container, registered from the definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import azure.functions as func

from functions.retries import retried_for_ever
from shared.app.app import app
from shared.app.settings import COSMOS, FEED_POLL_DELAY_MS
from shared.sources.trigger_leases import ALL_VERSIONS, LEASE_CONTAINER, trigger_prefix

if TYPE_CHECKING:
    from shared.definitions.model import CosmosContainer, Definitions, Source

MAX_ITEMS = 1000


def changes(definitions: Definitions, index_account: str) -> func.Blueprint:
    """A trigger for every container that the definitions name. Its leases name the account that holds the ledger."""
    blueprint = func.Blueprint()  # type: ignore[no-untyped-call]  # the SDK leaves it unannotated
    for source in definitions.sources.values():
        if source.cosmos is not None:
            _register(blueprint, source, source.cosmos, trigger_prefix(source, index_account))
    return blueprint


def _register(blueprint: func.Blueprint, source: Source, container: CosmosContainer, lease_prefix: str) -> None:
    async def on_changes(documents: func.DocumentList) -> None:
        items = [document.data for document in documents]
        worker = (await app().parts_for_batch()).worker
        if source.all_versions:
            await worker.apply_all_versions(source.name, items)
        else:
            await worker.apply_latest(source.name, items)

    function = retried_for_ever(blueprint, f"changes-{source.name}", on_changes)
    blueprint.cosmos_db_trigger(
        arg_name="documents",
        connection=COSMOS.name,
        database_name=container.database,
        container_name=container.container,
        lease_container_name=LEASE_CONTAINER,
        lease_container_prefix=lease_prefix,
        create_lease_container_if_not_exists=False,
        max_items_per_invocation=MAX_ITEMS,
        feed_poll_delay=app().settings.value(FEED_POLL_DELAY_MS),
        **_start(source),
    )(function)


def _start(source: Source) -> dict[str, Any]:
    return {"change_feed_mode": ALL_VERSIONS} if source.all_versions else {"start_from_beginning": True}
