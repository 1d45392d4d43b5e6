"""The schemas of all answers, made from the types of the answers; entries have the types of their index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.entries.projection.selection import path_tree
from shared.inputs.faults import TITLES
from shared.lookup.asking.explain import ExplanationJson
from shared.lookup.reading.results import FoundEntry
from shared.monitoring.status_json import StatusJson
from shared.web.api.dead_letters import DeadLetterJson
from shared.web.api.entry_pages import EntryPageJson
from shared.web.api.index_descriptions import IndexJson
from shared.web.api.lifecycle import GenerationJson, IndexStateJson, ServingJson
from shared.web.api.lookups import BatchJson
from shared.web.api.verifications import VerificationJson
from shared.web.error_problems import DEFINITIONS_BROKEN, INTERNAL, KINDS, REFUSALS
from shared.web.openapi.schema_parts import PARTITION_KEY_VALUE, VALUE_SCHEMAS, object_of
from shared.web.openapi.typed_schemas import TypedSchemas
from shared.web.problems import ProblemJson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.definitions.model import Definitions, Index, KeyPart, Measure, Source
    from shared.entries.projection.selection import PathTree
    from shared.web.openapi.schema_parts import Schema

# Clients that were made from the document know these names, so they do not follow the names of the types.
_COMPONENTS: Final[Mapping[Any, str]] = {
    ProblemJson: "Problem",
    IndexJson: "Index",
    ExplanationJson: "Explanation",
    StatusJson: "Status",
    DeadLetterJson: "DeadLetter",
    GenerationJson: "Generation",
    IndexStateJson: "Standing",
    ServingJson: "Served",
    VerificationJson: "Verification",
}
_SCHEMAS: Final = TypedSchemas(_COMPONENTS)


def schema_of(kind: Any) -> Schema:
    """The schema of an answer or of a member, by its type; a reference when it is a component."""
    return _SCHEMAS.schema_of(kind)


def component_schemas(definitions: Definitions) -> dict[str, Schema]:
    """The schemas that calls refer to by name."""
    schemas = {name: _SCHEMAS.object_of(kind) for kind, name in _COMPONENTS.items()}
    schemas["Problem"]["properties"]["code"]["enum"] = _problem_codes()
    for index in definitions.indexes.values():
        schemas[entry_name(index)] = _entry_schema(index, definitions.sources[index.source])
    return schemas


def page_schema(index: Index) -> Schema:
    """A page of entries of an index."""
    return TypedSchemas({FoundEntry: entry_name(index)}).object_of(EntryPageJson)


def batch_schema(index: Index) -> Schema:
    """The answers to many lookups of an index."""
    return TypedSchemas({FoundEntry: entry_name(index), ProblemJson: "Problem"}).object_of(BatchJson)


def entry_name(index: Index) -> str:
    """The name of the component that is an entry of an index."""
    return f"Entry.{index.name}"


def _problem_codes() -> list[str]:
    kinds = (*KINDS.values(), *REFUSALS.values(), DEFINITIONS_BROKEN, INTERNAL)
    return sorted({*TITLES, *(kind.code for kind in kinds)})


def _entry_schema(index: Index, source: Source) -> Schema:
    schema = _SCHEMAS.object_of(FoundEntry)
    members = schema["properties"]
    members["key"] = object_of(**{part.name: _value_schema(part) for part in index.parts})
    if index.summarize is not None:
        data = object_of(**{measure.name: _measure_schema(measure) for measure in index.summarize})
        # `select` may leave some out.
        members["data"] = {**data, "required": []}
        return object_of(**{name: members[name] for name in ("key", "data")})
    schema["required"] += ["id", "version"]
    members["data"] = _data_schema(index)
    if source.partition_key:
        schema["required"].append("partitionKey")
        members["partitionKey"] = _partition_key_schema(source)
    else:
        del members["partitionKey"]
    if source.cosmos is None:
        del members["fact"]
    else:
        members["fact"] = _fact_schema(index)
    return schema


def _data_schema(index: Index) -> Schema:
    """What the index projects. `select` may leave fields out, and none of a fact must be there."""
    tree = path_tree(index.project) if isinstance(index.project, tuple) else {}
    return _tree_schema(tree)


def _tree_schema(tree: PathTree | None) -> Schema:
    """Fields of any type; those above other fields are objects."""
    if tree is None:
        return {}
    return {**object_of({name: _tree_schema(below) for name, below in tree.items()}), "additionalProperties": True}


def _fact_schema(index: Index) -> Schema:
    """A fact has more than what the index projects, and an element of `each` stands in an array of it."""
    fields = dict.fromkeys(path_tree(index.project)) if isinstance(index.project, tuple) else {}
    if index.each is not None:
        fields.pop(index.each.name, None)
    return {**_tree_schema(fields), "description": "The fact as it is now; with `expand=fact`."}


def _partition_key_schema(source: Source) -> Schema:
    """One value as itself, several as a list."""
    levels = len(source.partition_key)
    if levels == 1:
        return PARTITION_KEY_VALUE
    return {"type": "array", "items": PARTITION_KEY_VALUE, "minItems": levels, "maxItems": levels}


def _measure_schema(measure: Measure) -> Schema:
    """Counts and sums are always there; of values that are all missing there is no mean and no extreme."""
    if measure.path is None:
        return {"type": "integer", "minimum": 0}
    return {"type": "number" if measure.kind == "sum" else ["number", "null"]}


def _value_schema(part: KeyPart) -> Schema:
    schema = VALUE_SCHEMAS[part.type]
    return {**schema, "type": [schema["type"], "null"]} if part.keeps_nulls else schema
