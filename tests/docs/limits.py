"""Limits of the product: what each is called in docs/limits.md, and the constant that decides it."""

from __future__ import annotations

from typing import Final, NamedTuple


class Limit(NamedTuple):
    """A limit, the constant, and the unit that it is shown in."""

    what: str
    module: str
    constant: str
    unit: str = ""
    divisor: int = 1


FACTS: Final = (
    Limit("entries of a fact, over all indexes", "shared/entries/projection/key_values", "ENTRIES_MAX"),
    Limit("elements of `each` in a fact", "shared/entries/projection/key_values", "ELEMENTS_MAX"),
    Limit("steps of expressions per fact and index", "shared/entries/changes/step_budget", "STEPS_MAX"),
    Limit("all entries of a fact in one index", "shared/entries/projection/projector", "ENTRIES_MIB_MAX", "MiB"),
    Limit(
        "all entries, if `project` names the element",
        "shared/entries/projection/projector",
        "ELEMENT_ENTRIES_MIB_MAX",
        "MiB",
    ),
    Limit("keys of all entries of a fact", "shared/pipeline/ledger/rows", "STATES_BYTES_MAX", "KiB", 1024),
    Limit("a key (PartitionKey or RowKey), UTF-16 units", "shared/entries/keys/limits", "KEY_UNITS"),
    Limit("sort parts in a key; longer ones are cut, lookups stay exact", "shared/entries/keys/limits", "SORT_UNITS"),
    Limit("digits of an `integer`", "shared/definitions/values", "INTEGER_DIGITS_MAX"),
    Limit("shards of a partition", "shared/definitions/model", "SHARDS_MAX"),
    Limit("open tables per period", "shared/definitions/loading/check_layout", "_TABLES_MAX"),
    Limit("measures of a summary", "shared/definitions/loading/check_summary", "MEASURES_MAX"),
    Limit("paths of a fact's partition key", "shared/definitions/loading/check_sources", "_COSMOS_KEY_LEVELS_MAX"),
)
LOOKUPS: Final = (
    Limit("entries of a page; 100 unless `maxpagesize` says otherwise", "shared/inputs/page_size", "PAGE_SIZE_MAX"),
    Limit("a page", "shared/lookup/reading/page", "ANSWER_BYTES_MAX", "MiB", 1024 * 1024),
    Limit("values of `.in`", "shared/lookup/asking/value_lists", "VALUES_MAX"),
    Limit("combinations of all lists of a lookup", "shared/lookup/asking/plan", "COMBINATIONS_MAX"),
    Limit("key ranges of a call", "shared/lookup/asking/plan", "READS_MAX"),
    Limit("fields of `select`", "shared/lookup/asking/options", "FIELDS_MAX"),
    Limit("rows that a page with `filter` reads", "shared/lookup/asking/filters", "FILTERED_ROWS_MAX"),
    Limit("rows that `count` counts", "shared/lookup/count", "ROWS_MAX"),
    Limit("lookups of a batch", "shared/lookup/batch", "LOOKUPS_MAX"),
    Limit("rows of a batch", "shared/lookup/batch", "ROWS_MAX"),
    Limit("parameters of a request", "shared/inputs/parameters", "PARAMETERS_MAX"),
    Limit("a parameter, bytes", "shared/inputs/parameters", "VALUE_BYTES_MAX"),
    Limit("lookups that wait for `sees`, per instance", "shared/lookup/read_your_writes", "WAITING_MAX"),
)
OPERATION: Final = (
    Limit("open dead letters of an index, about", "shared/pipeline/dead_letters/open_limit", "OPEN_MAX"),
    Limit("reason of a dead letter, characters", "shared/pipeline/dead_letters/rows", "REASON_CHARACTERS_MAX"),
    Limit("facts of a `--sample`", "shared/verification/sample", "SAMPLE_MAX"),
)
