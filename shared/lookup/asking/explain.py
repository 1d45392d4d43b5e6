"""How a lookup would run, for people: access class, key bounds, shards, storage transactions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, NotRequired, TypeAlias, TypedDict

from shared.errors import SuggestionJson
from shared.lookup.asking.filters import FILTERED_ROWS_MAX
from shared.lookup.asking.plan import Access

if TYPE_CHECKING:
    from shared.errors import BadLookupError
    from shared.lookup.asking.options import Options
    from shared.lookup.asking.plan import Plan
    from shared.lookup.generations import ReadableGeneration

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
    rowKeyRanges: NotRequired[int]
    partitions: NotRequired[int]
    parallelReads: NotRequired[int]
    shards: NotRequired[int]
    tables: NotRequired[int]
    storageTransactionsPerPage: int
    factReadsPerPage: NotRequired[int]
    comparesStoredValues: NotRequired[bool]
    errors: NotRequired[list[RefusalJson]]
    suggestion: NotRequired[SuggestionJson]


_SENTENCES: Final = {
    "point": "Every key part is given: the rows of one key are read.",
    "range": "A stretch of one partition is read, in the order of the sort parts.",
    "partition": "One whole partition is read, page by page.",
    "fan-out": "The partition is spread over shards: each is asked at once, the answers are merged in order.",
    "refused": "No stretch of one partition answers this, and tables are never scanned.",
}
_SEVERAL: Final = "Several values are asked for: each stretch is read at once, the answers are merged in order."
_FILTERED: Final = f" The filter sees what is read, and chooses: at most {FILTERED_ROWS_MAX} rows for a page."
_PERIODS: Final = "Entries are in tables by the period that they expire in: each is asked at once, as each shard is."
_WIDENED: Final = " Keys this long are cut, so more rows may be read and are compared by their stored values."
_EMPTY: Final = " The range is empty, so storage is not asked."


def explain_plan(generation: ReadableGeneration, plan: Plan, options: Options) -> ExplanationJson:
    """The explanation of a lookup that has a plan."""
    return {
        "index": generation.index.name,
        "access": plan.access,
        "explanation": _sentence(plan, options),
        "generation": generation.id,
        "table": generation.table,
        "accounts": list(dict.fromkeys(plan.accounts)),
        "partitionKeys": list(plan.partition_keys),
        "rowKeys": _ends(plan),
        "rowKeyRanges": len(plan.row_ranges),
        "partitions": len(plan.partitions),
        "parallelReads": plan.reads,
        "shards": max(Counter(plan.numbers).values()) // plan.tables,
        "tables": plan.tables,
        "storageTransactionsPerPage": plan.reads,
        "factReadsPerPage": options.page_size if options.expands_fact else 0,
        "comparesStoredValues": plan.compares_stored_values,
    }


def _ends(plan: Plan) -> RowKeyRange:
    """From the beginning of the first range to the end of the last one."""
    ranges = plan.row_ranges or (("", ""),)
    return {"from": ranges[0][0], "before": ranges[-1][1]}


def explain_refusal(generation: ReadableGeneration, error: BadLookupError) -> ExplanationJson:
    """The explanation of a lookup that would need a scan."""
    shown: ExplanationJson = {
        "index": generation.index.name,
        "access": "refused",
        "explanation": _SENTENCES["refused"],
        "generation": generation.id,
        "table": generation.table,
        "storageTransactionsPerPage": 0,
        "errors": [{"code": each.code, "parameter": each.parameter, "detail": each.detail} for each in error.faults],
    }
    if error.suggestion is not None:
        shown["suggestion"] = error.suggestion
    return shown


def _sentence(plan: Plan, options: Options) -> str:
    sentence = _PERIODS if plan.tables > 1 else _SENTENCES[plan.access]
    if len(plan.partitions) * len(plan.row_ranges) > 1:
        sentence = _SEVERAL
    if plan.is_empty:
        return sentence + _EMPTY
    return sentence + _WIDENED * plan.compares_stored_values + _FILTERED * (options.filter is not None)
