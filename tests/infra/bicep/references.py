"""What symbols of resources and modules stand for while a template is evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.infra.bicep.functions import Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

SUBSCRIPTION_ID = "/subscriptions/00000000"
TENANT_ID = "33333333-2222-3333-4444-555555555555"
GROUP = "Microsoft.Resources/resourceGroups"


class TemplateError(Exception):
    """A template that cannot be evaluated: Azure would refuse it, or the evaluator does not know the construct."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A resource by its symbol: its type, its full name and its id are known, the rest only to Azure."""

    symbol: str
    type: str
    name: str
    id: str
    # What Bicep makes of `symbol.id`, where that is another form than the id that Azure knows.
    written_id: str | None = None

    def member(self, name: str) -> Any:
        """A property of the resource."""
        known = {"id": self.written_id or self.id, "name": self.name.rpartition("/")[2], "type": self.type}
        return known.get(name, Unknown(f"<{self.name}.{name}>"))


@dataclass(frozen=True, slots=True)
class ModuleReference:
    """A module by its symbol; without outputs when its condition is false."""

    symbol: str
    outputs: Mapping[str, Any] | None

    def member(self, name: str) -> Any:
        """Only `outputs` can be asked for."""
        if name != "outputs":
            raise TemplateError(f"{self.symbol}.{name}: a module has only outputs")
        if self.outputs is None:
            raise TemplateError(f"{self.symbol}.outputs is used, but {self.symbol} is not deployed")
        return self.outputs


@dataclass(frozen=True, slots=True)
class Deployed:
    """A resource as it would be sent to Azure."""

    type: str
    api_version: str
    name: str
    id: str
    template: str
    symbol: str
    # The resource that this one extends (a role assignment, a diagnostic setting), or its resource group.
    scope: str
    body: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.template}: {self.symbol} ({self.name})"


def written_id(kind: str, name: str) -> str | None:
    """The form of `symbol.id` that is not the id: Bicep asks for a group as for any resource of the subscription."""
    return f"{SUBSCRIPTION_ID}/providers/{GROUP}/{name}" if kind == GROUP else None


def group_reference(name: str) -> Reference:
    """A resource group of the subscription."""
    return Reference("resourceGroup()", GROUP, name, f"{SUBSCRIPTION_ID}/resourceGroups/{name}")


def resource_id(scope: str, kind: str, name: str) -> str:
    """The id of a resource: `Microsoft.A/b/c` called `x/y` in a scope is `.../providers/Microsoft.A/b/x/c/y`."""
    if not all(name.split("/")):
        raise TemplateError(f"{kind} is called {name!r}: Azure takes no empty name, even where the condition is false")
    if kind == GROUP:
        return f"{scope}/resourceGroups/{name}"
    provider, *kinds = kind.split("/")
    if len(kinds) != len(name.split("/")):
        raise TemplateError(f"{kind} is called {name!r}: it needs a name for each of {kinds}; is its parent set?")
    pairs = "/".join(f"{kind}/{name}" for kind, name in zip(kinds, name.split("/"), strict=True))
    return f"{scope}/providers/{provider}/{pairs}"
