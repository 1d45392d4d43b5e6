"""How a lookup would run, for people: access class, key bounds, shards, storage transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NotRequired, TypeAlias, TypedDict

from shared.lookup.plan import Access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.errors import Fault
    from shared.lookup.generations import ReadableGeneration
    from shared.lookup.options import Options
    from shared.lookup.plan import Plan

ExplainedAccess: TypeAlias = Literal[Access, "refused"]
RowKeyRange = TypedDict("RowKeyRange", {"from": str, "before": str})


class RefusalJson(TypedDict):
    """One reason why a lookup is refused."""

    code: str
    parameter: str
    detail: str


class ExplanationJson(TypedDict):
    """How a lookup would run. One that is refused has `errors`; any other has the members that say what is read."""

    index: str
    access: ExplainedAccess
    explanation: str
    generation: str
    table: str
    accounts: NotRequired[list[str]]
    partitionKeys: NotRequired[list[str]]
    rowKeys: NotRequired[RowKeyRange]
    shards: NotRequired[int]
    tables: NotRequired[int]
    storageTransactionsPerPage: int
    factReadsPerPage: NotRequired[int]
    comparesStoredValues: NotRequired[bool]
    errors: NotRequired[list[RefusalJson]]


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


def explain_plan(generation: ReadableGeneration, plan: Plan, options: Options) -> ExplanationJson:
    """The explanation of a lookup that has a plan."""
    return {
        "index": generation.index.name,
        "access": plan.access,
        "explanation": _sentence(plan),
        "generation": generation.id,
        "table": generation.table,
        "accounts": list(dict.fromkeys(plan.accounts)),
        "partitionKeys": list(plan.partition_keys),
        "rowKeys": {"from": plan.bounds.lower, "before": plan.bounds.upper},
        "shards": len(plan.partition_keys) // plan.tables,
        "tables": plan.tables,
        "storageTransactionsPerPage": plan.transactions_per_page,
        "factReadsPerPage": options.page_size if options.expands_fact else 0,
        "comparesStoredValues": plan.compares_stored_values,
    }


def explain_refusal(generation: ReadableGeneration, faults: Sequence[Fault]) -> ExplanationJson:
    """The explanation of a lookup that would need a scan."""
    return {
        "index": generation.index.name,
        "access": "refused",
        "explanation": _SENTENCES["refused"],
        "generation": generation.id,
        "table": generation.table,
        "storageTransactionsPerPage": 0,
        "errors": [{"code": fault.code, "parameter": fault.parameter, "detail": fault.detail} for fault in faults],
    }


def _sentence(plan: Plan) -> str:
    sentence = _PERIODS if plan.tables > 1 else _SENTENCES[plan.access]
    if plan.is_empty:
        return sentence + _EMPTY
    return sentence + _WIDENED if plan.compares_stored_values else sentence
