"""What a lookup asks of each key part: equality, null, or comparisons, with values of the part's type."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast, get_args

from shared.definitions.values import REFUSED, coerce_all
from shared.entries.keys.bounds import Comparison, Operator
from shared.inputs.faults import fault, shown
from shared.lookup.asking.value_lists import IN, read_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.definitions.model import Index, KeyPart, PartValue
    from shared.definitions.values import Refused
    from shared.errors import Fault

Scalar: TypeAlias = "str | int | float | bool | datetime | None"
Value: TypeAlias = "Scalar | Sequence[Scalar]"

COMPARISONS: Final[tuple[Operator, ...]] = get_args(Operator)
NULL: Final = "null"
_EXAMPLES: Final = {
    "string": "text",
    "integer": "a whole number such as 12",
    "number": "a number such as 12.5",
    "boolean": "true or false",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """What is asked of one part: that it equals one of some values, of which None is null, or comparisons."""

    is_equality: bool
    values: tuple[PartValue | None, ...] = ()
    comparisons: tuple[Comparison, ...] = ()


@dataclass(slots=True)
class Conditions:
    """The conditions on an index, by part name, and the faults that were found on the way."""

    by_part: dict[str, Condition] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


def parameter_names(index: Index, part: KeyPart) -> tuple[str, ...]:
    """Every parameter that a part of an index can have, whatever the others are: the partition takes no ranges."""
    operators = [IN]
    if part not in index.partition:
        operators += [each for each in COMPARISONS if each != "prefix" or part.type == "string"]
    if part.keeps_nulls:
        operators.append(NULL)
    return (part.name, *(f"{part.name}.{operator}" for operator in operators))


@lru_cache(maxsize=1024)
def readable_names(part: str) -> tuple[str, ...]:
    """Every parameter that is a condition on this part, right or wrong; the part's own name first."""
    return (part, f"{part}.{IN}", f"{part}.{NULL}", *(f"{part}.{operator}" for operator in COMPARISONS))


def read_conditions(index: Index, parameters: Mapping[str, str]) -> Conditions:
    """The conditions in these parameters; parameters of nothing in this index are passed over."""
    given = [
        (part, names)
        for part in index.partition + index.sort
        if (names := [name for name in readable_names(part.name) if name in parameters])
    ]
    values = iter(coerce_all([(part.type, parameters[name]) for part, names in given for name in names]))
    conditions = Conditions()
    for part, names in given:
        _read_part(part, [_Given(name, parameters[name], next(values)) for name in names], conditions)
    return conditions


class _Given(NamedTuple):
    """A parameter that is a condition on a part, with its text as a value of the part's type."""

    name: str
    text: str
    value: PartValue | Refused


def _read_part(part: KeyPart, given: Sequence[_Given], conditions: Conditions) -> None:
    """One part's parameters. Its condition is kept also when a value is wrong: the other faults depend on it."""
    null = f"{part.name}.{NULL}"
    listed = f"{part.name}.{IN}"
    names = [each.name for each in given]
    if null in names:
        conditions.faults.extend(_null_faults(part, null, given[names.index(null)].text))
    values = {each.name: _value(part, each, conditions.faults) for each in given if each.name not in (null, listed)}
    equalities = [name for name in (part.name, listed, null) if name in names]
    if equalities and len(names) > 1:
        detail = f"{' and '.join(names)} are given together; keep one of them."
        conditions.faults.append(fault("ConflictingConditions", part.name, detail))
    if equalities:
        found: tuple[PartValue | None, ...] = (values.get(part.name),)
        if equalities[0] == listed:
            found = read_list(part, listed, given[names.index(listed)].text, conditions.faults)
        conditions.by_part[part.name] = Condition(is_equality=True, values=found)
        return
    comparisons = [
        Comparison(cast(Operator, name[len(part.name) + 1 :]), value)
        for name, value in values.items()
        if value is not None
    ]
    conditions.by_part[part.name] = Condition(is_equality=False, comparisons=tuple(comparisons))


def _value(part: KeyPart, given: _Given, faults: list[Fault]) -> PartValue | None:
    """The value of a condition, or None after a fault."""
    if part.type != "string" and given.name == f"{part.name}.prefix":
        detail = f"{given.name}: only text has prefixes, and {part.name} is of type {part.type}; use a range."
        faults.append(fault("InvalidOperator", given.name, detail))
        return None
    if given.value is REFUSED:
        faults.append(_wrong_type(part, given.name, given.text))
        return None
    return given.value


def _null_faults(part: KeyPart, name: str, text: str) -> list[Fault]:
    if text != "true":
        return [fault("InvalidParameterValue", name, f"{name} is {shown(text)}; it can only be true.")]
    if not part.keeps_nulls:
        detail = f'{name}: facts without {part.name} are not in this index; its definition would say "nulls: index".'
        return [fault("NullsNotKept", name, detail)]
    return []


def _wrong_type(part: KeyPart, name: str, text: str) -> Fault:
    if part.type == "datetime":
        detail = (
            f"{name} is {shown(text)}, which is not an ISO 8601 time such as 2024-05-01T12:00:00Z. "
            "In an address, write the + of an offset as %2B."
        )
        return fault("InvalidDate", name, detail)
    return fault("InvalidValue", name, f"{name} is {shown(text)}; {part.name} takes {_EXAMPLES[part.type]}.")


def as_parameters(conditions: Mapping[str, Value]) -> dict[str, str]:
    """Conditions with Python values as the parameters of a lookup."""
    return {
        name if value is not None else f"{name}.null": "true" if value is None else _as_text(value)
        for name, value in conditions.items()
    }


def _as_text(value: str | float | datetime | Sequence[object]) -> str:
    if isinstance(value, (list, tuple)):
        return json.dumps([each.isoformat() if isinstance(each, datetime) else each for each in value])
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool):
        return "true" if value else "false"
    # The shortest text that means this very number.
    return repr(value)
