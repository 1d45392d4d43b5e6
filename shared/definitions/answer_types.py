"""Types of members of JSON answers, with what JSON Schema says beyond a type: a range, a format, a description.

Answers are typed dictionaries with these members. The OpenAPI document takes their schemas from the same types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class SchemaKeywords:
    """Keywords of JSON Schema that stand beside the type of a member; None leaves a keyword out."""

    description: str | None = None
    format: str | None = None
    minimum: int | None = None
    maximum: int | None = None


Count = Annotated[int, SchemaKeywords(minimum=0)]
# A share, a price or a duration.
Amount = Annotated[float, SchemaKeywords(minimum=0)]
InstantText = Annotated[str, SchemaKeywords(format="date-time")]
