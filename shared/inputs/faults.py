"""What can be wrong with parameters: every code of a 400, with its title. docs/errors.md lists them."""

from __future__ import annotations

from typing import Final

from shared.errors import Fault

TITLES: Final = {
    "ConflictingConditions": "Conditions on one part contradict each other",
    "ExpandNotPossible": "The entries of this index have no facts to fetch",
    "InvalidDate": "A value is not an ISO 8601 time",
    "InvalidEncoding": "A parameter is not percent-encoded UTF-8",
    "InvalidFilter": '"filter" is not a JMESPath expression, or cannot be evaluated',
    "InvalidList": "A list of values cannot be read",
    "InvalidOperator": "A part cannot be compared in this way",
    "InvalidPageSize": "The page size is out of range",
    "InvalidParameterValue": "A parameter has a value that it cannot have",
    "InvalidSees": 'The value of "sees" cannot be read',
    "InvalidToken": "The page token does not belong to this lookup",
    "InvalidValue": "A value is not of its part's type",
    "MissingPartitionPart": "A part of the partition is missing",
    "NullsNotKept": "The index keeps no nulls of this part",
    "ParameterTooLong": "A parameter is too long",
    "RangeBeforeEquality": "A range stands before another condition",
    "RangeOnPartition": "A part of the partition has a range",
    "RepeatedParameter": "A parameter is given more than once",
    "SeesNotPossible": "This app cannot tell which changes it has seen",
    "SortPartSkipped": "A sort part is left out before another one",
    "TooManyFields": '"select" names too many fields',
    "TooCostly": "The lookup would take too much work",
    "TooManyParameters": "There are too many parameters",
    "TwoRanges": "Two parts have a range",
    "UnknownField": '"select" names a field that the index does not carry',
    "UnknownParameter": "A parameter is unknown",
}
# Faults of how conditions fit the key, not of how they are written: `explain` answers them, as "refused".
REFUSALS: Final = frozenset(
    {"MissingPartitionPart", "RangeBeforeEquality", "RangeOnPartition", "SortPartSkipped", "TwoRanges"}
)
_PARAMETER_SHOWN: Final = 100


def fault(code: str, parameter: str, detail: str) -> Fault:
    """A fault; its code must be one of the documented ones."""
    assert code in TITLES, code
    return Fault(code, parameter[:_PARAMETER_SHOWN], detail)


def shown(text: str) -> str:
    """A value that a caller sent, as a message shows it: short, on one line, and quoted."""
    quoted = ascii(text)
    return quoted if len(quoted) <= 80 else f"{quoted[:60]}... ({len(text)} characters)"
