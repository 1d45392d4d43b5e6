"""What the tour prints: definitions as the file has them, and whole answers in few lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

WIDTH = 118

TRY_NEXT = """
# What to try next
    make run                                    the same, until you end it: with a console and docs
    .venv/bin/index-tables list                 while it runs: its indexes, their keys and sizes
    .venv/bin/index-tables query customers-by-town town=Redmond lastName.prefix=J
    edit indexes.yaml                           while it runs: the app starts again with what you save
    .venv/bin/index-tables init --from YOURS.jsonl --definitions yours.yaml
                                                definitions for facts of your own, with reasons
    docs/tutorial.md                            from your own JSON to Azure, step by step
"""


def definition_of(file: Path, index: str) -> str:
    """An index as the file defines it, with the comment above it."""
    lines = file.read_text(encoding="utf-8").splitlines()
    first = last = lines.index(f"  {index}:")
    while lines[first - 1].startswith("  #"):
        first -= 1
    while last + 1 < len(lines) and lines[last + 1].startswith("    "):
        last += 1
    return "\n".join(lines[first : last + 1])


def shown(value: Any, indent: str = "") -> str:
    """JSON with as few lines as fit."""
    whole = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(whole) <= WIDTH or not isinstance(value, dict | list) or not value:
        return whole
    deeper = f"{indent}  "
    if isinstance(value, list):
        items, (begin, end) = [shown(item, deeper) for item in value], "[]"
    else:
        items, (begin, end) = [f"{json.dumps(name)}: {shown(item, deeper)}" for name, item in value.items()], "{}"
    return f"{begin}\n{deeper}" + f",\n{deeper}".join(items) + f"\n{indent}{end}"
