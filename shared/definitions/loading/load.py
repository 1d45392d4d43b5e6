"""Loads `indexes.yaml`: text in, checked definitions with every fault and all advice out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.definitions.loading.findings import Findings
from shared.definitions.model import Definitions
from shared.errors import DefinitionsError

if TYPE_CHECKING:
    from shared.definitions.loading.findings import Finding


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a definitions file gave. `definitions` may be used only when there is no fault."""

    definitions: Definitions
    faults: tuple[Finding, ...] = ()
    advice: tuple[Finding, ...] = ()

    def require(self) -> Definitions:
        """The definitions; raises `DefinitionsError` with all faults when there is one."""
        if self.faults:
            raise DefinitionsError(tuple(map(str, self.faults)))
        return self.definitions


def load(text: str, file: str = "indexes.yaml") -> Loaded:
    """Parse and check a definitions file. Never raises for what the file says."""
    # Here and not above: an app that starts from compiled definitions needs neither pydantic nor YAML.
    from shared.definitions.loading.advice import advise
    from shared.definitions.loading.build import build
    from shared.definitions.loading.check import check
    from shared.definitions.loading.document import parse
    from shared.definitions.loading.structure import parts_that_fit

    findings = Findings(file)
    root = parse(text.removeprefix("\ufeff"), findings)
    shape = None if root is None else parts_that_fit(root, findings)
    if shape is None:
        return Loaded(Definitions(), tuple(findings.faults))
    definitions = build(shape, findings)
    sources = root.get("sources") if isinstance(root, dict) else None
    check(definitions, sources if isinstance(sources, dict) else {}, findings)
    if not findings.faults:
        advise(definitions, findings)
    return Loaded(definitions, _by_line(findings.faults), _by_line(findings.advice))


def _by_line(found: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda finding: finding.line))
