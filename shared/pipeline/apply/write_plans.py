"""The tables that definitions need, by the account that holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shared.catalog.rows import CATALOG_TABLE
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.entries.projection.generations import plan_of
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.pipeline.ledger.rows import LEDGER_TABLE
from shared.tasks.rows import TASK_TABLE

if TYPE_CHECKING:
    from shared.definitions.model import Definitions


PIPELINE_TABLES: Final = frozenset(
    (DEFAULT_ACCOUNT, table) for table in (CATALOG_TABLE, LEDGER_TABLE, DEAD_LETTER_TABLE, TASK_TABLE)
)


def needed_tables(definitions: Definitions) -> set[tuple[str, str]]:
    """Account and name of every table: the pipeline's own, and one per generation, were all of them new."""
    needed = set(PIPELINE_TABLES)
    for source in definitions.sources:
        needed |= {place for generation in plan_of(definitions, source).generations for place in generation.tables()}
    return needed
