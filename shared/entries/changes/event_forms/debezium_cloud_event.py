"""A change event of Debezium that its CloudEvents converter has wrapped, as the converter got it.

The converter puts `before` and `after` into `data` (with or without a schema around them), `op` and what stood in
`source` into attributes: `iodebeziumop`, `iodebeziumtsms`, `iodebeziumlsn`. Names lose all but letters and digits, and
numbers of 64 bits are texts.
"""

from __future__ import annotations

import re
from typing import Any, Final

_PREFIX: Final = "iodebezium"
_OP: Final = f"{_PREFIX}op"
# As the form reads them from `source`; the other names have nothing but letters and digits anyway.
_NAMES: Final = {"tsms": "ts_ms", "tsus": "ts_us", "tsns": "ts_ns"}
_NUMBERS: Final = frozenset({"ts_ms", "ts_us", "ts_ns", "lsn", "pos", "ord"})
_WHOLE: Final = re.compile(r"-?\d{1,19}", re.ASCII)


def is_wrapped(value: Any) -> bool:
    """Whether this is a CloudEvent of Debezium's converter."""
    return isinstance(value, dict) and "specversion" in value and _OP in value


def wrapped_change(event: dict[str, Any]) -> dict[str, Any] | None:
    """The change event in it; None when its `data` is not JSON."""
    data = event.get("data")
    if isinstance(data, dict) and data.keys() == {"schema", "payload"}:
        data = data["payload"]
    if not isinstance(data, dict):
        return None
    attributes = {
        name.removeprefix(_PREFIX): value
        for name, value in event.items()
        if name.startswith(_PREFIX) and name != _OP and value is not None
    }
    named = {_NAMES.get(name, name): value for name, value in attributes.items()}
    source = {name: _number(value) if name in _NUMBERS else value for name, value in named.items()}
    return {"op": event[_OP], "before": data.get("before"), "after": data.get("after"), "source": source}


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value
