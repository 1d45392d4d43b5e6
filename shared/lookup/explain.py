"""How a lookup would run, for people: access class, key bounds, shards, storage transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.errors import Fault
    from shared.lookup.generations import ReadableGeneration
    from shared.lookup.options import Options
    from shared.lookup.plan import Plan

_SENTENCES: Final = {
    "point": "Every key part is given: the rows of one key are read.",
    "range": "A stretch of one partition is read, in the order of the sort parts.",
    "partition": "One whole partition is read, page by page.",
    "fan-out": "The partition is spread over shards: each is asked at once, the answers are merged in order.",
    "refused": "No stretch of one partition answers this, and tables are never scanned.",
}
_PERIODS: Final = "Entries are in tables by the period that they expire in: each is asked at once, as each shard is."
_WIDENED: Final = " Keys this long are cut, so more rows may be read and are compared by their stored values."
_EMPTY: Final = " The range is empty, so storage is not asked."


def explain_plan(generation: ReadableGeneration, plan: Plan, options: Options) -> dict[str, Any]:
    """The explanation of a lookup that has a plan."""
    sentence = _PERIODS if plan.tables > 1 else _SENTENCES[plan.access]
    if plan.is_empty:
        sentence += _EMPTY
    elif plan.compares_stored_values:
        sentence += _WIDENED
    return {
        **_head(generation, plan.access, sentence),
        "accounts": list(dict.fromkeys(plan.accounts)),
        "partitionKeys": list(plan.partition_keys),
        "rowKeys": {"from": plan.bounds.lower, "before": plan.bounds.upper},
        "shards": len(plan.partition_keys) // plan.tables,
        "tables": plan.tables,
        "storageTransactionsPerPage": plan.transactions_per_page,
        "factReadsPerPage": options.page_size if options.expands_fact else 0,
        "comparesStoredValues": plan.compares_stored_values,
    }


def explain_refusal(generation: ReadableGeneration, faults: Sequence[Fault]) -> dict[str, Any]:
    """The explanation of a lookup that would need a scan."""
    return {
        **_head(generation, "refused", _SENTENCES["refused"]),
        "storageTransactionsPerPage": 0,
        "errors": [{"code": each.code, "parameter": each.parameter, "detail": each.detail} for each in faults],
    }


def _head(generation: ReadableGeneration, access: str, sentence: str) -> dict[str, Any]:
    return {
        "index": generation.index.name,
        "access": access,
        "explanation": sentence,
        "generation": generation.id,
        "table": generation.table,
    }
