"""A workload: one module in `bench/workloads/`, found by being there.

The module's docstring says in one sentence what it measures, `NAME` is what the command line calls it, and
`async def measure(meter)` returns the measurements.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.errors import BenchError, BenchUsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from types import ModuleType

    from bench.measure.measurement import Measurement
    from bench.measure.meter import Meter


@dataclass(frozen=True, slots=True)
class Workload:
    """What a workload's module declares."""

    name: str
    sentence: str
    measure: Callable[[Meter], Awaitable[Sequence[Measurement]]]


def discover(package: ModuleType) -> dict[str, Workload]:
    """The workloads of `package` by name, in the order of the names."""
    workloads: dict[str, Workload] = {}
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        workload = _declared(importlib.import_module(found.name))
        if workload.name in workloads:
            raise BenchError(f"Two workloads are called '{workload.name}': rename the one in {found.name}.")
        workloads[workload.name] = workload
    return dict(sorted(workloads.items()))


def check_names(names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a name that no workload has, with the nearest names or else all of them."""
    known = sorted(known)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}."
            raise BenchUsageError(f"There is no workload '{name}': {hint}")


def _declared(module: ModuleType) -> Workload:
    name, measure = getattr(module, "NAME", None), getattr(module, "measure", None)
    sentence = " ".join((module.__doc__ or "").split())
    if not isinstance(name, str) or not sentence or not inspect.iscoroutinefunction(measure):
        raise BenchError(
            f"{module.__name__} is no workload: it needs a docstring that says what it measures, "
            "a NAME, and an `async def measure(meter)`."
        )
    return Workload(name, sentence, measure)
