"""What the changes of each source are written to, as the catalog says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.entries.projection.generations import Generation, SourcePlan, has_lsn
from shared.entries.projection.projector import Projector

if TYPE_CHECKING:
    from shared.catalog.rows import CatalogGeneration, CatalogSnapshot
    from shared.definitions.model import Definitions, Source


def source_plans(snapshot: CatalogSnapshot, definitions: Definitions) -> dict[str, SourcePlan]:
    """The plan of every source of the definitions."""
    return {name: source_plan(snapshot, source) for name, source in definitions.sources.items()}


def source_plan(snapshot: CatalogSnapshot, source: Source) -> SourcePlan:
    """Every generation of the source that is not retired, by the definition that it was made from.

    Also those that the worker's own file does not have: they may be another deployment's, or wait for their end. One
    that is read-only is left out; its ledger parts stay as they are.
    """
    own = [one for one in snapshot.generations if one.source == source.name]
    return SourcePlan(
        source.name,
        tuple(generation_of(one) for one in own if one.is_updated),
        frozenset(one.id for one in own if one.is_retired),
        snapshot.buckets_of(source.name),
        serving=frozenset(one.id for one in own if one.state == "serving"),
        indexes={one.id: one.index for one in own},
        has_lsn=has_lsn(source),
    )


def generation_of(listed: CatalogGeneration) -> Generation:
    """A generation of the catalog as the pipeline writes to it."""
    projector = Projector(listed.definition, listed.source_definition)
    return Generation(listed.id, listed.definition, listed.table, projector)
