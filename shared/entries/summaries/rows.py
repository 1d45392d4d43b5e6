"""The two kinds of rows in the table of a summary, which share the partition of their group.

    total          RowKey = 0, encoded sort parts, lane
    contribution   RowKey = 1, encoded sort parts, fact key

So a range of groups reads no contributions, and the contributions of one group stand together. A contribution has no
version in its key: it is one row, changed under its ETag, and the column `_at` has its version. `_lane` says in which
of the total rows of its group it is counted. A fact that left a group leaves a row that is gone, until the sweep.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from shared.entries.keys.index_keys import TOTALS
from shared.entries.keys.limits import VERSION_UNITS
from shared.entries.keys.strings import CEILING
from shared.entries.rows.columns import KEY, REST, put_text, take_text
from shared.entries.rows.entry_row import GONE, is_tombstone
from shared.entries.rows.json_text import NotJsonError, dumps, loads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.entries.rows.columns import Columns
    from shared.entries.summaries.totals import Contribution, SummaryLayout, Total

CONTRIBUTIONS: Final = "1"
AT: Final = "_at"
LANE: Final = "_lane"
# Of the RowKey of a total; each lane is a row.
LANE_UNITS: Final = 1
LANES: Final = 4
_VERSION: Final = re.compile(f"[0-9]{{20}}[0-9a-f]{{{VERSION_UNITS - 20}}}")
_KEYS: Final = frozenset({"PartitionKey", "RowKey"})
_OWN: Final = frozenset({*_KEYS, AT, LANE, GONE})


class StoredContribution(NamedTuple):
    """A contribution row: its version, its lane, what it adds (None: it is gone), and its other columns."""

    at: str
    lane: int
    contribution: Contribution | None
    columns: Columns


class StoredTotal(NamedTuple):
    """A total row, and the values of the key parts of its group as JSON text."""

    total: Total
    key: str


def contribution_key(sort: str, fact_key: str) -> str:
    """The RowKey of a fact's contribution to the group with these encoded sort parts."""
    return CONTRIBUTIONS + sort + fact_key


def sort_of(entry_key: str, fact_key: str) -> str:
    """The encoded sort parts in the RowKey of a fact's contribution."""
    return entry_key[len(CONTRIBUTIONS) : len(entry_key) - len(fact_key)]


def group_key(sort: str) -> str:
    """What the RowKeys of all totals of a group begin with, and no others."""
    return TOTALS + sort


def sort_of_group(group: str) -> str:
    """The encoded sort parts in a group key."""
    return group[len(TOTALS) :]


def total_key(sort: str, lane: int) -> str:
    """The RowKey of the total of a group in a lane."""
    return f"{group_key(sort)}{lane}"


def is_total_key(row_key: str) -> bool:
    """Whether a row is a total."""
    return row_key.startswith(TOTALS) and row_key[-LANE_UNITS:].isdecimal() and len(row_key) > LANE_UNITS


def split_total_key(row_key: str) -> tuple[str, int]:
    """The encoded sort parts and the lane of a total."""
    return row_key[len(TOTALS) : -LANE_UNITS], int(row_key[-LANE_UNITS:])


def contributions_of(sort: str) -> tuple[str, str]:
    """From where to where the contributions of a group stand."""
    return CONTRIBUTIONS + sort, CONTRIBUTIONS + sort + CEILING


def contribution_columns(columns: Columns, key_text: str, plain: dict[str, Any]) -> Columns:
    """The columns that say what a fact adds to a group, for the ledger's digest and for its row."""
    written = dict(columns)
    put_text(written, KEY, key_text)
    put_text(written, REST, dumps(plain))
    return written


def contribution_row(partition: str, row_key: str, at: str, lane: int, columns: Columns) -> dict[str, Any]:
    """The row of a contribution that counts."""
    return {"PartitionKey": partition, "RowKey": row_key, AT: at, LANE: lane, **columns}


def gone_row(partition: str, row_key: str, at: str, lane: int) -> dict[str, Any]:
    """The row of a contribution that counts no more."""
    return {"PartitionKey": partition, "RowKey": row_key, AT: at, LANE: lane, GONE: True}


def read_contribution(entity: Mapping[str, Any], layout: SummaryLayout) -> StoredContribution:
    """The contribution that a row holds; raises `NotJsonError` when it holds none."""
    columns = own_columns(entity)
    try:
        at, lane = entity[AT], entity[LANE]
        found = None if is_tombstone(entity) else contribution_in(columns, layout)
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise NotJsonError("the row holds no contribution") from error
    if not isinstance(at, str) or _VERSION.fullmatch(at) is None or type(lane) is not int or not 0 <= lane < LANES:
        raise NotJsonError("the row holds no contribution")
    return StoredContribution(at, lane, found, columns)


def own_columns(entity: Mapping[str, Any]) -> Columns:
    """The columns that `contribution_columns` made."""
    return {name: value for name, value in entity.items() if name not in _OWN}


def contribution_in(columns: Columns, layout: SummaryLayout) -> Contribution:
    """What `contribution_columns` were made of."""
    return layout.contribution_of_plain(loads(take_text(columns, REST) or ""))


def total_row(partition: str, row_key: str, stored: StoredTotal, layout: SummaryLayout) -> dict[str, Any]:
    """The row of a total."""
    columns: Columns = {}
    put_text(columns, KEY, stored.key)
    put_text(columns, REST, dumps(layout.plain_total(stored.total)))
    return {"PartitionKey": partition, "RowKey": row_key, **columns}


def read_total(entity: Mapping[str, Any], layout: SummaryLayout) -> StoredTotal:
    """The total that a row holds; raises `NotJsonError` when it holds none."""
    columns = cast("Columns", entity)
    try:
        total = layout.total_of_plain(loads(take_text(columns, REST) or ""))
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise NotJsonError("the row holds no total") from error
    key = take_text(columns, KEY)
    if key is None:
        raise NotJsonError("the row lacks _key")
    return StoredTotal(total, key)
