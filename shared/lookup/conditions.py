"""What a lookup asks of each key part: equality, null, or comparisons, with values of the part's type."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast, get_args

from shared.definitions.values import REFUSED, coerce
from shared.entries.keys.bounds import Comparison, Operator
from shared.inputs.faults import fault, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.definitions.model import Index, KeyPart, PartValue
    from shared.errors import Fault

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
    """What is asked of one part. `is_equality` with the value None is null."""

    is_equality: bool
    value: PartValue | None = None
    comparisons: tuple[Comparison, ...] = ()


@dataclass(slots=True)
class Conditions:
    """The conditions on an index, by part name, and the faults that were found on the way."""

    by_part: dict[str, Condition] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


def parameter_names(part: KeyPart) -> tuple[str, ...]:
    """Every parameter that a part can have, whatever the others are."""
    operators: list[str] = [each for each in COMPARISONS if each != "prefix" or part.type == "string"]
    if part.keeps_nulls:
        operators.append(NULL)
    return (part.name, *(f"{part.name}.{operator}" for operator in operators))


def read_conditions(index: Index, parameters: Mapping[str, str]) -> Conditions:
    """The conditions in these parameters; parameters of nothing in this index are passed over."""
    conditions = Conditions()
    for part in index.parts:
        mine = {name: parameters[name] for name in _candidates(part) if name in parameters}
        if mine:
            _read_part(part, mine, conditions)
    return conditions


def _candidates(part: KeyPart) -> tuple[str, ...]:
    return (part.name, f"{part.name}.{NULL}", *(f"{part.name}.{operator}" for operator in COMPARISONS))


def _read_part(part: KeyPart, given: Mapping[str, str], conditions: Conditions) -> None:
    """One part's parameters. Its condition is kept also when a value is wrong: the other faults depend on it."""
    equality, null = part.name, f"{part.name}.{NULL}"
    if null in given:
        conditions.faults.extend(_null_faults(part, null, given[null]))
    values = {name: _value(part, name, text, conditions.faults) for name, text in given.items() if name != null}
    is_equality = equality in given or null in given
    if is_equality and len(given) > 1:
        detail = f"{' and '.join(given)} are given together; keep one of them."
        conditions.faults.append(fault("ConflictingConditions", part.name, detail))
    comparisons = tuple(
        Comparison(cast(Operator, name[len(part.name) + 1 :]), value)
        for name, value in values.items()
        if name != equality and value is not None
    )
    conditions.by_part[part.name] = (
        Condition(is_equality=True, value=values.get(equality))
        if is_equality
        else Condition(is_equality=False, comparisons=comparisons)
    )


def _value(part: KeyPart, name: str, text: str, faults: list[Fault]) -> PartValue | None:
    """The value of a condition, or None after a fault."""
    if name == f"{part.name}.prefix" and part.type != "string":
        detail = f"{name}: only text has prefixes, and {part.name} is of type {part.type}; use a range."
        faults.append(fault("InvalidOperator", name, detail))
        return None
    value = coerce(part.type, text)
    if value is REFUSED:
        faults.append(_wrong_type(part, name, text))
        return None
    return value


def _null_faults(part: KeyPart, name: str, text: str) -> list[Fault]:
    if text != "true":
        return [fault("InvalidParameterValue", name, f"{name} is {shown(text)}; it can only be true.")]
    if not part.keeps_nulls:
        detail = f"{name}: facts without {part.name} are not in this index; its definition would say `nulls: index`."
        return [fault("NullsNotKept", name, detail)]
    return []


def _wrong_type(part: KeyPart, name: str, text: str) -> Fault:
    if part.type == "datetime":
        detail = (
            f"{name} is {shown(text)}, which is no ISO 8601 time such as 2024-05-01T12:00:00Z. "
            "Write the + of an offset as %2B."
        )
        return fault("InvalidDate", name, detail)
    return fault("InvalidValue", name, f"{name} is {shown(text)}; {part.name} takes {_EXAMPLES[part.type]}.")
