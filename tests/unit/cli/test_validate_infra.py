"""`index-tables validate --infra` says before a deployment what Azure or the templates would refuse."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from cli.errors import UsageError
from cli.infra import Templates, infra_faults
from cli.main import main
from shared.definitions.loading.load import load
from shared.definitions.model import Definitions
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

COSMOS = "{cosmos: {database: shop, container: facts}, partitionKey: k}"
INDEX = "{source: s, partition: a}"


@pytest.fixture
def infra(tmp_path: Path) -> Path:
    """A copy of the templates, which read the definitions beside them."""
    return shutil.copytree(ROOT / "infra", tmp_path / "infra")


def write(path: Path, sources: str, indexes: str = f"{{i: {INDEX}}}") -> Path:
    """A definitions file."""
    path.write_text(f"version: 1\nsources:\n  {sources}\nindexes: {indexes}\n", encoding="utf-8")
    return path


def faults(file: Path, infra: Path, environment: dict[str, str] | None = None) -> str:
    """What is reported about a file, as text."""
    definitions = load(file.read_text(), str(file)).require()
    return "\n".join(map(str, infra_faults(file, definitions, Templates.read(infra, environment or {}))))


def test_this_project_can_be_deployed(capsys: pytest.CaptureFixture[str]) -> None:
    """Its own definitions with its own templates."""
    assert main(["validate", str(ROOT / "indexes.yaml"), "--infra", str(ROOT / "infra")]) == 0
    assert "no fault" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ("s: " + COSMOS.replace(": k", ": ['\"a.b\"']"), 'cannot make a partition key of "a.b"'),
        ("s: " + COSMOS.replace(": k", ": ['\"Major Genre\"']"), 'cannot make a partition key of "Major Genre"'),
        (f"s: {COSMOS}\n  t: {COSMOS.replace(': k', ': other')}", "with another partition key"),
    ],
)
def test_a_bad_name_is_reported_with_its_place(sources: str, message: str, tmp_path: Path, infra: Path) -> None:
    """What is taken, or cannot be made."""
    file = write(tmp_path / "indexes.yaml", sources)
    found = faults(file, infra)
    assert message in found
    assert f"{file}:3: " in found or f"{file}:4: " in found


@pytest.mark.parametrize("name", ["1INDEX", "INDEX-1", "A__B", "COSMOS", "AzureWebJobsStorage", "I" * 44])
def test_a_bad_connection_is_reported(name: str, tmp_path: Path, infra: Path) -> None:
    """It becomes the beginning of app settings."""
    placement = f"placement: {{by: hash, accounts: [{name}, INDEX_2]}}"
    file = write(tmp_path / "indexes.yaml", f"s: {COSMOS}", f"{{i: {{source: s, partition: a, {placement}}}}}")
    assert f'"{name}" is' in faults(file, infra)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("INDEX_1", "index_1", '"index_1" and "INDEX_1" are one name to Azure'),
        ("INDEX_1", "Index_Storage", '"Index_Storage" and "INDEX_STORAGE" are one name to Azure'),
        ("INDEX_1", "cosmos", '"cosmos" is a setting of something else'),
    ],
)
def test_connections_that_differ_only_in_case_are_reported(
    first: str, second: str, message: str, tmp_path: Path, infra: Path
) -> None:
    """Azure compares names of deployments and app settings without case, also across indexes."""
    placed = "{source: s, partition: a, placement: {by: hash, accounts: [%s]}}"
    file = write(tmp_path / "indexes.yaml", f"s: {COSMOS}", f"{{i: {placed % first}, j: {placed % second}}}")
    assert message in faults(file, infra)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            "{cosmos: {database: shop, container: orders}}",
            "{cosmos: {database: shop, container: Orders}}",
            'the container "Orders" and "orders" in sources.s.cosmos (line 3) are one name to Azure',
        ),
        (
            "{cosmos: {database: shop, container: orders}}",
            "{cosmos: {database: Shop, container: items}}",
            'the database "Shop" and "shop" in sources.s.cosmos (line 3) are one name to Azure',
        ),
    ],
)
def test_names_that_differ_only_in_case_are_reported_with_both_places(
    first: str, second: str, message: str, tmp_path: Path, infra: Path
) -> None:
    """Azure compares the names of resources without case."""
    file = write(tmp_path / "indexes.yaml", f"s: {first}\n  t: {second}")
    assert message in (found := faults(file, infra))
    assert f"{file}:4: sources.t." in found


@pytest.mark.parametrize("account", [{}, {"EXISTING_COSMOS_ACCOUNT": "mine", "EXISTING_COSMOS_RESOURCE_GROUP": "rg"}])
def test_facts_are_not_where_azure_would_find_the_leases(account: dict[str, str], tmp_path: Path, infra: Path) -> None:
    """The templates make the container of leases, also in an account of one's own."""
    file = write(tmp_path / "indexes.yaml", "s: {cosmos: {database: shop, container: Leases}}")
    message = 'the container "Leases" and "leases", which the templates make, are one name to Azure'
    assert message in faults(file, infra, account)


def test_containers_of_ones_own_account_may_differ_in_case(tmp_path: Path, infra: Path) -> None:
    """The templates do not make them, and Cosmos DB itself tells them apart."""
    sources = "s: {cosmos: {database: shop, container: a}}\n  t: {cosmos: {database: shop, container: A}}"
    file = write(tmp_path / "indexes.yaml", sources)
    mine = {"EXISTING_COSMOS_ACCOUNT": "mine", "EXISTING_COSMOS_RESOURCE_GROUP": "rg"}
    assert faults(file, infra, mine) == ""


def own_storage(**accounts: dict[str, str]) -> dict[str, str]:
    """The variable that `azd env set` gives the parameter existingIndexStorage."""
    return {"EXISTING_INDEX_STORAGE": json.dumps(accounts)}


PLACED = "{i: {source: s, partition: a, placement: {by: hash, accounts: [INDEX_1, INDEX_2]}}}"


def test_two_connections_may_lead_to_one_account_of_ones_own(tmp_path: Path, infra: Path) -> None:
    """The templates give the app its role there once."""
    file = write(tmp_path / "indexes.yaml", f"s: {COSMOS}", PLACED)
    mine = {"name": "mine", "resourceGroup": "rg"}
    assert faults(file, infra, own_storage(INDEX_1=mine, INDEX_2={"name": "Mine", "resourceGroup": "RG"})) == ""


@pytest.mark.parametrize(
    ("accounts", "message"),
    [
        (
            {"INDEX_1": {"name": "mine", "resourceGroup": "a"}, "INDEX_2": {"name": "mine", "resourceGroup": "b"}},
            'INDEX_1 and INDEX_2 name the account "mine" in two resource groups, "a" and "b"',
        ),
        ({"INDEX_1": {"name": "mine"}}, "INDEX_1 has no resourceGroup"),
        ({"INDEX_3": {"name": "mine", "resourceGroup": "a"}}, "no placement names INDEX_3"),
    ],
)
def test_an_account_of_ones_own_that_cannot_be_used_is_reported(
    accounts: dict[str, dict[str, str]], message: str, tmp_path: Path, infra: Path
) -> None:
    """Otherwise Azure would find nothing there, or a new account would be made."""
    file = write(tmp_path / "indexes.yaml", f"s: {COSMOS}", PLACED)
    assert message in faults(file, infra, own_storage(**accounts))


@pytest.mark.parametrize("text", ["{", "[]", '{"INDEX_1": "mine"}'])
def test_accounts_of_ones_own_that_are_no_object_are_reported(text: str, tmp_path: Path, infra: Path) -> None:
    """With the form that they need."""
    file = write(tmp_path / "indexes.yaml", f"s: {COSMOS}", PLACED)
    found = faults(file, infra, {"EXISTING_INDEX_STORAGE": text})
    assert "existingIndexStorage" in found
    assert '"resourceGroup"' in found


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"INDEX_STORAGE_SKU": "Standard_ZRS"}, "Standard_ZRS needs availability zones, and westus has none"),
        ({"INDEX_STORAGE_SKU": "Standard_RAGZRS"}, "Standard_RAGZRS needs availability zones"),
        ({"ZONE_REDUNDANT": "true"}, "isZoneRedundant needs availability zones, and westus has none"),
        ({}, ""),
        ({"INDEX_STORAGE_SKU": "Standard_RAGRS"}, ""),
    ],
)
def test_zones_are_refused_where_a_region_has_none(
    variables: dict[str, str], message: str, tmp_path: Path, infra: Path
) -> None:
    """Azure would say so only when everything else is there."""
    file = write(tmp_path / "indexes.yaml", f"s: {COSMOS}")
    found = faults(file, infra, {"AZURE_LOCATION": "westus", **variables})
    assert message in found
    assert bool(message) == bool(found)
    assert faults(file, infra, {"AZURE_LOCATION": "westeurope", **variables}) == ""


def test_a_region_without_the_plan_is_refused(tmp_path: Path, infra: Path) -> None:
    """The function app comes last, after everything that it needs."""
    file = write(tmp_path / "indexes.yaml", f"s: {COSMOS}")
    assert "the templates do not deploy to brazilsoutheast" in faults(
        file, infra, {"AZURE_LOCATION": "brazilsoutheast"}
    )


def test_one_connection_in_several_indexes_is_not_reported(tmp_path: Path, infra: Path) -> None:
    """It is one account."""
    placed = "{source: s, partition: a, placement: {by: hash, accounts: [INDEX_1, INDEX_STORAGE]}}"
    file = write(tmp_path / "indexes.yaml", f"s: {COSMOS}", f"{{i: {placed}, j: {placed}}}")
    assert faults(file, infra) == ""


def test_too_many_hubs_for_the_tier_are_reported(tmp_path: Path, infra: Path) -> None:
    """Standard takes ten, Premium a hundred, a namespace of one's own what it takes."""
    hubs = "\n  ".join(f"s{number}: {{eventHub: h{number}}}" for number in range(11))
    file = write(tmp_path / "indexes.yaml", hubs, "{i: {source: s1, partition: a}}")
    assert "11 event hubs do not fit into a Standard namespace, which takes 10" in faults(file, infra)
    assert faults(file, infra, {"EVENTHUBS_SKU": "Premium"}) == ""
    mine = {"EXISTING_EVENTHUBS_NAMESPACE": "mine", "EXISTING_EVENTHUBS_RESOURCE_GROUP": "rg"}
    assert faults(file, infra, mine) == ""


def test_a_tier_without_consumer_groups_is_refused(tmp_path: Path, infra: Path) -> None:
    """Basic has only the default group."""
    file = write(tmp_path / "indexes.yaml", "s: {eventHub: orders}")
    assert 'no tier "Basic"' in faults(file, infra, {"EVENTHUBS_SKU": "Basic"})


def test_too_many_containers_for_shared_throughput_are_reported(tmp_path: Path, infra: Path) -> None:
    """Only with autoscale, which the containers of a database share here."""
    sources = "\n  ".join(f"s{number}: {COSMOS.replace('facts', f'c{number}')}" for number in range(25))
    file = write(tmp_path / "indexes.yaml", sources, "{i: {source: s1, partition: a}}")
    assert "has 25 containers and one for leases" in faults(file, infra, {"COSMOS_CAPACITY": "autoscale"})
    assert faults(file, infra) == ""


def test_an_account_of_ones_own_needs_its_resource_group(tmp_path: Path, infra: Path) -> None:
    """Otherwise the deployment would look for it in the new one."""
    file = write(tmp_path / "indexes.yaml", f"s: {COSMOS}")
    assert "without existingCosmosResourceGroup" in faults(file, infra, {"EXISTING_COSMOS_ACCOUNT": "mine"})


def test_a_file_that_the_templates_do_not_read_must_name_nothing_more(tmp_path: Path, infra: Path) -> None:
    """The app could be told to serve it, but nothing would be there."""
    write(tmp_path / "indexes.yaml", f"s: {COSMOS}")
    placement = "placement: {by: list, map: {x: INDEX_1}, default: INDEX_STORAGE}"
    other = write(
        tmp_path / "other.yaml",
        f"s: {COSMOS.replace('facts', 'fact')}\n  t: {{eventHub: orders}}",
        f"{{i: {{source: s, partition: a, {placement}}}}}",
    )
    found = faults(other, infra)
    assert 'the templates make no container "shop/fact"' in found
    assert 'Did you mean "shop/facts"?' in found
    assert 'the templates make no event hub "orders"' in found
    assert 'the templates make no storage account "INDEX_1"' in found
    assert '"INDEX_STORAGE"' not in found.replace('Did you mean "INDEX_STORAGE"?', "")


def test_faults_of_the_file_itself_come_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be read cannot be deployed."""
    file = tmp_path / "broken.yaml"
    file.write_text("version: 2\n")
    assert main(["validate", str(file), "--infra", str(ROOT / "infra")]) == 1
    assert "infra" not in capsys.readouterr().out


def test_a_broken_parameters_file_is_wrong_usage(infra: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, not a traceback."""
    (infra / "main.parameters.json").write_text("{")
    assert main(["validate", str(ROOT / "indexes.yaml"), "--infra", str(infra)]) == 2
    assert "is not a parameters file" in capsys.readouterr().err


def test_a_pipe_cannot_be_checked(infra: Path, tmp_path: Path) -> None:
    """Its lines are gone when they are needed."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="can be read only once"):
        infra_faults(tmp_path / "pipe", Definitions(), Templates.read(infra, {}))


def test_a_folder_without_templates_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message names what is missing."""
    assert main(["validate", str(ROOT / "indexes.yaml"), "--infra", str(tmp_path)]) == 2
    assert "has no templates" in capsys.readouterr().err
