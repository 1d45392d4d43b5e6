"""What `validate --infra` lets pass, the templates can deploy, and they make of it what the app looks for."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.infra import Templates, infra_faults
from local.run.provision import placed_connections
from shared.app import settings
from shared.definitions.loading.load import load
from shared.sources.partition_key import partition_key_paths
from shared.sources.trigger_leases import LEASE_CONTAINER
from tests.infra.bicep.deployment import deploy, deploy_all
from tests.infra.names import name_faults
from tests.infra.settings import app_settings, is_connection
from tests.infra.templates import BASE, INFRA
from tests.infra.triggers import CONTAINER, HUB, named
from tests.infra.triggers import partition_key_paths as deployed_paths

if TYPE_CHECKING:
    from pathlib import Path

    from tests.infra.bicep.references import Deployed

COSMOS = {"database": "shop", "container": "facts"}
SOURCE = {"cosmos": COSMOS, "partitionKey": "k"}
INDEX = {"source": "s", "partition": "a"}

# Most of what is drawn passes; the rest is there so that `validate --infra` has something to refuse.
names = st.sampled_from(["a", "b", "facts", "Facts", "c.d-e"])
paths = st.sampled_from(["id", "a", "a.b", '"a"', " a ", '"Major Genre".b', "_x", '"a.b"', '"b"."c1"'])
connections = st.sampled_from(["INDEX_STORAGE", "INDEX_1", "INDEX_2", "HOST", "other", "Mine9", "index_1"])
containers = st.fixed_dictionaries({"database": names, "container": names})
partition_keys = st.none() | paths | st.lists(paths, min_size=1, max_size=3, unique=True)
deletes = st.none() | st.sampled_from([{"feed": "allVersions"}, {"feed": None, "when": "gone"}])
sources = st.fixed_dictionaries(
    {"cosmos": containers},
    optional={"eventHub": st.none() | names, "partitionKey": partition_keys, "deletes": deletes},
) | st.fixed_dictionaries(
    {"eventHub": names},
    optional={"cosmos": st.none(), "partitionKey": partition_keys, "deletes": st.none()},
)
placements = st.one_of(
    st.none(),
    st.builds(lambda accounts: {"by": "hash", "accounts": accounts}, st.lists(connections, min_size=1, unique=True)),
    st.builds(lambda one, other: {"by": "list", "map": {"x": one}, "default": other}, connections, connections),
    st.builds(
        lambda one, other: {"by": "range", "map": [{"to": "m", "account": one}, {"from": "m", "account": other}]},
        connections,
        connections,
    ),
)
indexes = st.fixed_dictionaries(
    {"source": st.just("s"), "partition": st.just("a")},
    optional={"placement": placements, "sort": st.none()},
)
files = st.builds(
    lambda first, more, index: {"version": 1, "sources": {**more, "s": first}, "indexes": index},
    sources,
    st.dictionaries(st.sampled_from(["t", "u"]), sources, max_size=2),
    st.dictionaries(st.sampled_from(["i", "j"]), indexes, max_size=2),
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the templates, which read the definitions beside them."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(INFRA, folder / "infra")
    return folder


def passes(project: Path, definitions: dict[str, Any]) -> bool:
    """Whether `validate --infra` finds nothing wrong with the definitions of a project."""
    file = project / "indexes.yaml"
    file.write_text(json.dumps(definitions), encoding="utf-8")
    loaded = load(file.read_text(encoding="utf-8"), str(file))
    return not loaded.faults and not infra_faults(file, loaded.require(), Templates.read(project / "infra", {}))


def deployed(**source: Any) -> list[Deployed]:
    """The deployment of one source with these keys."""
    return deploy(INFRA / "main.bicep", BASE, {"version": 1, "sources": {"s": source}, "indexes": {"i": INDEX}})


def test_a_source_without_a_partition_key_gets_a_container_by_id() -> None:
    """It is the default, and Cosmos DB cannot change the key of a container later."""
    resources = deployed(cosmos=COSMOS)
    assert deployed_paths(named(resources, CONTAINER)["shop/facts"]) == ["/id"]


@pytest.mark.parametrize("empty", ["eventHub", "partitionKey", "deletes", "version"])
def test_a_key_of_a_source_that_is_null_counts_as_left_out(empty: str) -> None:
    """YAML makes null of a key without a value."""
    assert named(deployed(cosmos=COSMOS, **{empty: None}), CONTAINER).keys() == {"shop/facts", "shop/leases"}


def test_a_container_that_is_null_is_not_made() -> None:
    """Nor an account for it."""
    resources = deployed(cosmos=None, eventHub="orders")
    assert not [one for one in resources if one.type.startswith("Microsoft.DocumentDB")]
    assert named(resources, HUB).keys() == {"orders"}


def test_a_placement_that_is_null_names_no_account() -> None:
    """Index storage itself is there all the same."""
    definitions = {"version": 1, "sources": {"s": SOURCE}, "indexes": {"i": {**INDEX, "placement": None}}}
    given = app_settings(deploy(INFRA / "main.bicep", BASE, definitions))
    assert is_connection(settings.INDEX_STORAGE.name, given)


@given(files)
def test_what_passes_can_be_deployed(project: Path, definitions: dict[str, Any]) -> None:
    """With the containers, keys, hubs and accounts of the local run, which the tests run against."""
    if not passes(project, definitions):
        return
    parameters = {**BASE, "usePrivateNetwork": True}
    deployed_all = deploy_all(project / "infra/main.bicep", parameters, definitions)
    assert name_faults(deployed_all) == []
    resources = deployed_all.resources
    served = load(json.dumps(definitions)).require()
    made = named(resources, CONTAINER)
    for source in served.sources.values():
        if source.cosmos:
            container = made[f"{source.cosmos.database}/{source.cosmos.container}"]
            assert deployed_paths(container) == partition_key_paths(source)
            assert f"{source.cosmos.database}/{LEASE_CONTAINER}" in made
    assert named(resources, HUB).keys() == {one.event_hub for one in served.sources.values() if one.event_hub}
    given_settings = app_settings(resources)
    assert len({name.lower() for name in given_settings}) == len(given_settings)
    assert [name for name in placed_connections(served) if not is_connection(name, given_settings)] == []
