"""What the changes of each source are written to, as the catalog says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.entries.projection.generations import Generation, SourcePlan, has_lsn, projector_of

if TYPE_CHECKING:
    from shared.catalog.rows import CatalogGeneration, CatalogSnapshot
    from shared.definitions.model import Definitions, Source


def source_plans(snapshot: CatalogSnapshot, definitions: Definitions) -> dict[str, SourcePlan]:
    """The plan of every source of the definitions."""
    return {name: source_plan(snapshot, source) for name, source in definitions.sources.items()}


def source_plan(snapshot: CatalogSnapshot, source: Source) -> SourcePlan:
    """Every generation of the source that is not retired, by the definition that it was made from.

    Also those that the worker's own file does not have: they may belong to another deployment, or wait for their end.
    A read-only generation is left out; its states in the ledger stay as they are.
    """
    own = [generation for generation in snapshot.generations if generation.source == source.name]
    return SourcePlan(
        source.name,
        tuple(generation_of(generation) for generation in own if generation.is_updated),
        frozenset(generation.id for generation in own if generation.is_retired),
        snapshot.buckets_of(source.name),
        serving=frozenset(generation.id for generation in own if generation.state == "serving"),
        indexes={generation.id: generation.index for generation in own},
        has_lsn=has_lsn(source),
    )


def generation_of(generation: CatalogGeneration) -> Generation:
    """A generation of the catalog as the pipeline writes to it."""
    projector = projector_of(generation.definition, generation.source_definition)
    return Generation(generation.id, generation.definition, generation.table, projector)
