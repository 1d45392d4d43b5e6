"""Names and ids of a deployment: each once, whatever its case, and ids in the form that Azure gives them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from tests.infra.bicep.references import GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.infra.bicep.deployment import DeployedTemplates

_DEPLOYMENT_NAME_MAX: Final = 64


def name_faults(deployed: DeployedTemplates) -> list[str]:
    """Names that are there twice, names that are too long, and ids that name nothing."""
    ids = [resource.id for resource in deployed.resources]
    return [
        *(f"{twice} is deployed twice" for twice in _repeated(ids)),
        *(f"the module {twice} is deployed twice" for twice in _repeated(deployed.modules)),
        *(
            f"the name of the module {module} is longer than {_DEPLOYMENT_NAME_MAX}"
            for module in deployed.modules
            if len(module.rpartition("/")[2]) > _DEPLOYMENT_NAME_MAX
        ),
        *(
            f"{resource}: {value} is not the id of a resource: spell it from subscription().id"
            for resource in deployed.resources
            for value in _texts(resource.body)
            if f"/providers/{GROUP}/" in value
        ),
    ]


def _repeated(ids: Iterable[str]) -> list[str]:
    """Ids that are there more than once to Azure, which compares them without case."""
    return [name for name, count in Counter(name.lower() for name in ids).items() if count > 1]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
