"""The JSON Schema of `indexes.yaml`, made from the same shape that loads it, for editors."""

from __future__ import annotations

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from shared.definitions.loading.shape import FileShape


class _WithoutTitles(GenerateJsonSchema):
    """Titles repeat the key that they stand under; editors show descriptions."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def json_schema() -> str:
    """The schema as the repository keeps it."""
    schema = FileShape.model_json_schema(schema_generator=_WithoutTitles)
    schema["title"] = "indexes.yaml"
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
