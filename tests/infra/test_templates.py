"""The templates: syntax, symbols, official schemas, settings, triggers and roles, all without Azure."""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Final

import pytest

from function_app import app
from shared.app import settings
from shared.definitions.loading.load import load
from shared.sources.hub_events import EVENT_CONSUMER_GROUP, EVENT_LAG_GROUP
from shared.sources.partition_key import partition_key_paths
from shared.sources.trigger_leases import LEASE_CONTAINER
from tests.infra.bicep.deployment import deploy, deploy_all
from tests.infra.bicep.references import TENANT_ID, TemplateError
from tests.infra.bicep.symbols import MODULE, PARAMETER, RESOURCE
from tests.infra.bicep.syntax import body_object, declared_name, decorators, parse, parts, properties, text
from tests.infra.checks import bindings_of, project_definitions, project_deployment, scenario_faults, static_faults
from tests.infra.names import name_faults
from tests.infra.roles import ASSIGNMENT, COSMOS_ASSIGNMENT, documented_roles, given_roles
from tests.infra.settings import app_settings, setting_faults
from tests.infra.templates import BASE, DEPLOYER, EVERYTHING, INFRA, SCENARIOS, all_templates
from tests.infra.triggers import CONSUMER_GROUP, CONTAINER, QUEUE, named, trigger_faults
from tests.infra.triggers import partition_key_paths as deployed_paths
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tree_sitter import Node

    from tests.infra.bicep.references import Deployed

COSMOS_ACCESS: Final = INFRA / "app/cosmos-access.bicep"


def test_syntax_symbols_and_modules_are_right() -> None:
    """Nothing undefined, unused or declared twice; modules get what they declare, outputs exist."""
    assert static_faults(INFRA) == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_deployment_holds_to_every_check(scenario: str) -> None:
    """Official type schemas, no keys, and for all definitions at once settings, triggers and roles."""
    assert scenario_faults(INFRA, scenario) == []


def test_the_scenarios_deploy_every_resource_of_the_templates() -> None:
    """A branch that no scenario takes would go unchecked."""
    deployed = {
        (one.template, one.symbol)
        for parameters, definitions in SCENARIOS.values()
        for one in deploy(INFRA / "main.bicep", parameters, definitions)
    }
    pattern = re.compile(r"^resource (\w+) '[^']+' = ", re.MULTILINE)
    declared = {(path.name, symbol) for path in all_templates() for symbol in pattern.findall(path.read_text())}
    assert declared - deployed == set()


def test_this_project_deploys_what_its_app_needs() -> None:
    """Settings that its definitions do not need, such as EVENTHUB without a hub, are left out; nothing is unknown."""
    resources = project_deployment()
    unused = {"no template sets EVENTHUB"}
    assert set(setting_faults(resources, project_definitions())) <= unused
    assert trigger_faults(bindings_of(app), resources) == []


def test_the_templates_make_what_the_local_run_makes(tmp_path: Path) -> None:
    """The same containers with the same partition keys, and the same consumer groups, from the same definitions."""
    path = tmp_path / "indexes.yaml"
    path.write_text(json.dumps(EVERYTHING))
    sources = load(path.read_text(), str(path)).require().sources.values()
    resources = deploy(INFRA / "main.bicep", BASE, EVERYTHING)
    expected = {
        **{f"{one.cosmos.database}/{LEASE_CONTAINER}": ["/id"] for one in sources if one.cosmos},
        **{f"{one.cosmos.database}/{one.cosmos.container}": partition_key_paths(one) for one in sources if one.cosmos},
    }
    assert {name: deployed_paths(one) for name, one in named(resources, CONTAINER).items()} == expected
    groups = (EVENT_CONSUMER_GROUP, EVENT_LAG_GROUP)
    hubs = {f"{one.event_hub}/{group}" for one in sources if one.event_hub for group in groups}
    assert set(named(resources, CONSUMER_GROUP)) == hubs


def test_queues_and_containers_have_the_names_that_the_code_uses() -> None:
    """The app's identity may use these and no others."""
    resources = project_deployment()
    for queue in (settings.SWEEP_QUEUE, settings.TASK_QUEUE):
        assert {f"default/{queue}", f"default/{queue}-poison"} <= set(named(resources, QUEUE))
    containers = [one for one in resources if one.id.endswith(f"/containers/{settings.DEAD_LETTER_CONTAINER}")]
    assert [one.name.partition("/")[0] for one in containers] == [app_settings(resources)["INDEX_STORAGE__accountName"]]


def test_an_index_account_keeps_its_name_when_another_is_added() -> None:
    """Otherwise a new placement would move every index to empty accounts."""
    alone = app_settings(deploy(INFRA / "main.bicep", BASE, {**EVERYTHING, "indexes": {}}))
    together = app_settings(deploy(INFRA / "main.bicep", BASE, EVERYTHING))
    assert alone["INDEX_STORAGE__accountName"] == together["INDEX_STORAGE__accountName"]
    accounts = [value for name, value in together.items() if name.endswith("__accountName")]
    assert len(set(accounts)) == len(accounts) == 6


def test_page_tokens_have_a_key_of_their_own() -> None:
    """Without a key of the storage account there is nothing else to seal them with."""
    assert app_settings(project_deployment())["PAGE_TOKEN_KEY"]
    given = deploy(INFRA / "main.bicep", {**BASE, "pageTokenKey": "mine"})
    assert app_settings(given)["PAGE_TOKEN_KEY"] == "mine"


def test_what_the_app_works_with_may_not_write_its_package() -> None:
    """Another identity deploys, to another account than the one where the host keeps its own things."""
    resources = project_deployment()
    (site,) = [one for one in resources if one.type == "Microsoft.Web/sites"]
    storage = site.body["properties"]["functionAppConfig"]["deployment"]["storage"]
    account = re.match(r"https://(\w+)\.", storage["value"])
    assert account
    given = [one for one in resources if one.type == ASSIGNMENT and f"storageAccounts/{account[1]}" in one.scope]
    (role,) = given
    deploying = storage["authentication"]["userAssignedIdentityResourceId"]
    assert role.body["properties"]["principalId"] == f"<{deploying.rpartition('/')[2]}.properties.principalId>"
    assert app_settings(resources)["AzureWebJobsStorage__accountName"] != account[1]


def private_app() -> list[Deployed]:
    """A deployment that is closed to the internet."""
    return deploy(INFRA / "main.bicep", {**BASE, "isPrivateApp": True}, EVERYTHING)


def test_a_private_app_is_reached_by_its_endpoint_alone() -> None:
    """And everything that it works with is private, too."""
    resources = private_app()
    closed = [one for one in resources if "publicNetworkAccess" in one.body.get("properties", {})]
    assert {one.body["properties"]["publicNetworkAccess"] for one in closed} == {"Disabled"}
    endpoints = {one.name for one in resources if one.type == "Microsoft.Network/privateEndpoints"}
    assert {"pe-app", "pe-package-blob", "pe-host-queue"} <= endpoints


def test_nothing_of_azure_bypasses_the_network_of_private_storage() -> None:
    """Only what has an endpoint gets in."""
    accounts = [one for one in private_app() if one.type == "Microsoft.Storage/storageAccounts"]
    assert {one.body["properties"]["networkAcls"]["bypass"] for one in accounts} == {"None"}


def test_only_the_named_addresses_may_call() -> None:
    """Without any, all may: a key is needed in either case."""
    given = deploy(INFRA / "main.bicep", {**BASE, "allowedAddresses": ["203.0.113.0/24", "198.51.100.7/32"]})
    (config,) = [one.body["properties"]["siteConfig"] for one in given if one.type == "Microsoft.Web/sites"]
    assert [rule["ipAddress"] for rule in config["ipSecurityRestrictions"]] == ["203.0.113.0/24", "198.51.100.7/32"]
    assert config["ipSecurityRestrictionsDefaultAction"] == "Deny"
    (open_to_all,) = [
        one.body["properties"]["siteConfig"] for one in project_deployment() if one.type == "Microsoft.Web/sites"
    ]
    assert open_to_all["ipSecurityRestrictionsDefaultAction"] == "Allow"


def test_callers_with_tokens_are_known_by_app_service_authentication() -> None:
    """The app believes what that says about them: the one is never switched on without the other."""
    client = "22222222-2222-3333-4444-555555555555"
    asked = deploy(INFRA / "main.bicep", {**BASE, "entraClientId": client})
    (config,) = [one.body["properties"] for one in asked if one.name.endswith("/authsettingsV2")]
    provider = config["identityProviders"]["azureActiveDirectory"]
    assert config["platform"]["enabled"]
    assert provider["registration"] == {
        "clientId": client,
        "openIdIssuer": f"https://login.microsoftonline.com/{TENANT_ID}/v2.0",
    }
    assert provider["validation"]["allowedAudiences"] == [client, f"api://{client}"]
    settings_of_app = app_settings(asked)
    assert (settings_of_app["ACCESS"], settings_of_app["ACCESS_TENANTS"]) == ("entra", TENANT_ID)


def test_callers_with_keys_need_no_app_registration() -> None:
    """As it comes."""
    resources = project_deployment()
    assert [one for one in resources if one.name.endswith("/authsettingsV2")] == []
    assert "ACCESS" not in app_settings(resources)


def test_tokens_of_several_tenants_are_told_apart_by_the_app() -> None:
    """The issuer is that of all organizations then."""
    parameters = {**BASE, "entraClientId": "22222222-2222-3333-4444-555555555555", "allowedTenants": ["a", "b"]}
    asked = deploy(INFRA / "main.bicep", parameters)
    (config,) = [one.body["properties"] for one in asked if one.name.endswith("/authsettingsV2")]
    registration = config["identityProviders"]["azureActiveDirectory"]["registration"]
    assert registration["openIdIssuer"] == "https://login.microsoftonline.com/organizations/v2.0"
    assert app_settings(asked)["ACCESS_TENANTS"] == "a,b"


def test_every_call_to_data_is_logged_on_demand() -> None:
    """Of each service that holds some, and of none unless asked for."""
    asked = deploy(INFRA / "main.bicep", {**BASE, "auditLogs": True}, EVERYTHING)
    logged = [one.scope for one in asked if one.body.get("properties", {}).get("logs")]
    for service in ("tableServices", "blobServices", "queueServices", "databaseAccounts", "namespaces"):
        assert [scope for scope in logged if service in scope]
    assert [one for one in project_deployment() if one.body.get("properties", {}).get("logs")] == []


@pytest.mark.parametrize("service", ["databaseAccounts", "namespaces"])
def test_calls_to_data_are_logged_in_tables_of_their_service(service: str) -> None:
    """Otherwise Azure puts them into one table for all services, which the docs do not name."""
    asked = deploy(INFRA / "main.bicep", {**BASE, "auditLogs": True}, EVERYTHING)
    (setting,) = [one for one in asked if one.body.get("properties", {}).get("logs") and service in one.scope]
    assert setting.body["properties"]["logAnalyticsDestinationType"] == "Dedicated"


def test_a_hard_deleting_source_turns_continuous_backup_on() -> None:
    """The all-versions feed needs it."""
    account = next(
        one
        for one in deploy(INFRA / "main.bicep", BASE, EVERYTHING)
        if one.type == "Microsoft.DocumentDB/databaseAccounts"
    )
    assert account.body["properties"]["backupPolicy"]["type"] == "Continuous"


def assignments_of_cosmos() -> dict[str, Node]:
    """The declarations of role assignments inside a Cosmos DB account, by symbol, in order."""
    nodes = parse(COSMOS_ACCESS).declarations(RESOURCE)
    return {declared_name(node): node for node in nodes if COSMOS_ASSIGNMENT in text(parts(node)[1])}


def test_role_assignments_of_a_cosmos_account_come_one_after_another() -> None:
    """The account takes one change of its roles at a time, and answers others with 412."""
    template, chain = parse(COSMOS_ACCESS), assignments_of_cosmos()
    for node in chain.values():
        if parts(node)[-1].type == "for_statement":
            assert [text(size) for size in decorators(template, node)["batchSize"]] == ["1"]
    for earlier, later in itertools.pairwise(chain):
        assert earlier in text(properties(body_object(chain[later]))["dependsOn"])


def test_private_endpoints_come_one_after_another_and_after_the_roles() -> None:
    """An account that is still taking a change refuses the next one."""
    template = parse(INFRA / "app/endpoints.bicep")
    loops = [node for node in template.declarations(RESOURCE) if "privateEndpoints" in text(parts(node)[1])]
    assert len(loops) == 2
    assert [text(decorators(template, node)["batchSize"][0]) for node in loops] == ["1", "1"]
    main = parse(INFRA / "main.bicep")
    (endpoints,) = [node for node in main.declarations(MODULE) if declared_name(node) == "endpoints"]
    waits_for = text(properties(body_object(endpoints))["dependsOn"])
    assert re.findall(r"\w+Access", waits_for) == [
        "hostStorageAccess",
        "packageAccess",
        "indexAccess",
        "cosmosAccess",
        "eventHubsAccess",
    ]


def test_the_host_has_no_endpoint_to_tables() -> None:
    """Nothing of the host or the app is in tables of that account."""
    services = private_endpoints("Standard_ZRS")
    (host,) = [account for account in services if account.startswith("sthost")]
    assert services[host] == ["blob", "queue"]


def test_a_connection_may_be_called_like_something_else() -> None:
    """Endpoints of index storage have names of their own."""
    placement = {"by": "hash", "accounts": ["HOST", "EVENT", "COSMOS_1", "INDEX"]}
    index = {"source": "customers", "partition": "town", "placement": placement}
    definitions = {**EVERYTHING, "indexes": {"by-town": index}}
    for sku in ("Standard_ZRS", "Standard_RAGZRS"):
        parameters = {**BASE, "usePrivateNetwork": True, "indexStorageSku": sku}
        assert name_faults(deploy_all(INFRA / "main.bicep", parameters, definitions)) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            {"cosmos": {"database": "shop", "container": "orders"}},
            {"cosmos": {"database": "shop", "container": "Orders"}},
        ),
        (
            {"cosmos": {"database": "shop", "container": "orders"}},
            {"cosmos": {"database": "Shop", "container": "items"}},
        ),
        ({"eventHub": "orders"}, {"eventHub": "Orders"}),
    ],
)
def test_names_that_differ_only_in_case_are_one_name(first: dict[str, object], second: dict[str, object]) -> None:
    """The evaluator sees them as Azure does; `validate --infra` refuses such definitions."""
    definitions = {"version": 1, "sources": {"a": first, "b": second}, "indexes": {}}
    faults = name_faults(deploy_all(INFRA / "main.bicep", BASE, definitions))
    assert any("is deployed twice" in fault for fault in faults)


def test_two_deployments_do_not_meet_in_a_group_of_yours() -> None:
    """Each of them deploys modules into it; one name would be one deployment."""
    parameters, definitions = SCENARIOS["all brought along"]
    first, second = (
        {
            module
            for module in deploy_all(INFRA / "main.bicep", {**parameters, "environmentName": name}, definitions).modules
            if "/resourceGroups/mine/" in module
        }
        for name in ("one", "two")
    )
    assert len(first) == len(second) == 3
    assert first & second == set()


def test_one_account_of_yours_keeps_dead_letters_once_for_two_connections() -> None:
    """And the app has one role there."""
    parameters, definitions = SCENARIOS["all brought along"]
    resources = deploy(INFRA / "main.bicep", parameters, definitions)
    kept = [one.name for one in resources if one.id.endswith(f"/containers/{settings.DEAD_LETTER_CONTAINER}")]
    assert kept == [f"mystorage/default/{settings.DEAD_LETTER_CONTAINER}"]
    writers = [one for one in resources if one.symbol == "writesTables" and "mystorage" in one.scope.lower()]
    assert len(writers) == 1


def private_endpoints(sku: str) -> dict[str, list[str]]:
    """The services that private endpoints lead to, by account, when index storage has this redundancy."""
    parameters = {**BASE, "usePrivateNetwork": True, "indexStorageSku": sku}
    found: dict[str, list[str]] = {}
    for one in deploy(INFRA / "main.bicep", parameters, EVERYTHING):
        if one.type == "Microsoft.Network/privateEndpoints":
            (connection,) = one.body["properties"]["privateLinkServiceConnections"]
            account = connection["properties"]["privateLinkServiceId"].rpartition("/")[2]
            found.setdefault(account, []).extend(connection["properties"]["groupIds"])
    return {account: sorted(services) for account, services in found.items() if account.startswith("st")}


def index_redundancy(parameters: dict[str, object]) -> set[str]:
    """The redundancy of the index accounts."""
    accounts = [one for one in deploy(INFRA / "main.bicep", {**BASE, **parameters}) if one.symbol == "account"]
    return {one.body["sku"]["name"] for one in accounts if one.name.startswith("stix")}


def test_index_storage_is_in_zones_where_the_region_has_them() -> None:
    """Elsewhere Azure refuses it, so the default is another; what is asked for is not changed."""
    without = json.loads((INFRA / "regions.json").read_text())["withoutZones"]
    assert [region for region in without if index_redundancy({"location": region}) != {"Standard_LRS"}] == []
    assert index_redundancy({"location": "westeurope"}) == {"Standard_ZRS"}
    assert index_redundancy({"location": "westus", "indexStorageSku": "Standard_RAGRS"}) == {"Standard_RAGRS"}


def test_only_regions_with_the_plan_can_be_chosen() -> None:
    """`azd` offers these, and Azure refuses others before it creates anything."""
    main = parse(INFRA / "main.bicep")
    (node,) = [node for node in main.declarations(PARAMETER) if declared_name(node) == "location"]
    allowed = [text(part).strip("'") for part in parts(decorators(main, node)["allowed"][0])]
    regions = json.loads((INFRA / "regions.json").read_text())
    assert allowed == regions["flexConsumption"]
    assert set(regions["withoutZones"]) < set(allowed)
    assert "type: 'location'" in text(decorators(main, node)["metadata"][0])
    with pytest.raises(TemplateError, match="not allowed"):
        deploy(INFRA / "main.bicep", {**BASE, "location": "brazilsoutheast"})


@pytest.mark.parametrize("sku", ["Standard_RAGRS", "Standard_RAGZRS"])
def test_a_private_network_leads_to_the_secondary_that_lookups_may_read(sku: str) -> None:
    """In every index account; the public address of the secondary is closed, too."""
    services = private_endpoints(sku)
    index_accounts = [account for account in services if account.startswith("stix")]
    assert len(index_accounts) == 5
    assert [account for account in index_accounts if "table_secondary" not in services[account]] == []


def test_an_account_without_a_readable_secondary_gets_no_endpoint_for_it() -> None:
    """Azure would refuse it."""
    assert [services for services in private_endpoints("Standard_GZRS").values() if "table_secondary" in services] == []


def test_both_endpoints_of_tables_have_their_names_in_one_zone() -> None:
    """Azure has one zone for tables, and a group of resources can have it once."""
    parameters, definitions = SCENARIOS["private, with a secondary"]
    zones = [one.name for one in deploy(INFRA / "main.bicep", parameters, definitions) if one.symbol == "zones"]
    assert sorted(zones) == sorted(set(zones))


def test_continuous_backup_stays_when_the_last_hard_deleting_source_goes() -> None:
    """Azure has no way back to periodic backup, so whoever deploys must be able to keep what the account has."""
    given = json.loads((INFRA / "main.parameters.json").read_text())["parameters"]
    assert given["cosmosContinuousBackup"]["value"] == "${COSMOS_CONTINUOUS_BACKUP=false}"
    resources = deploy(INFRA / "main.bicep", {**BASE, "cosmosContinuousBackup": True})
    account = next(one for one in resources if one.type == "Microsoft.DocumentDB/databaseAccounts")
    assert account.body["properties"]["backupPolicy"]["type"] == "Continuous"


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("eventHubPartitions", 33, "maxValue is 32"),
        ("eventHubPartitions", "8", "not of type int"),
        ("eventRetentionHours", 169, "maxValue is 168"),
        ("eventHubsSku", "Basic", "not allowed"),
        ("environmentName", "", "minLength is 1"),
    ],
)
def test_a_parameter_is_held_to_its_declaration(parameter: str, value: object, message: str) -> None:
    """Types, allowed values, bounds."""
    with pytest.raises(TemplateError, match=message):
        deploy(INFRA / "main.bicep", {**BASE, parameter: value})


def test_no_description_promises_more_than_its_parameter_takes() -> None:
    """Such as a number above the limit in another tier."""
    main = parse(INFRA / "main.bicep")
    rules = {declared_name(node): decorators(main, node) for node in main.declarations(PARAMETER)}
    promises = {
        name: re.findall(r"[Mm]ore than (\d+)", text(one["description"][0]))
        for name, one in rules.items()
        if "maxValue" in one
    }
    assert {name: numbers for name, numbers in promises.items() if numbers} == {}


def test_the_parameters_file_names_parameters_of_the_template() -> None:
    """All but the one that must be left alone, so that `azd env set` and the workflow reach each of them."""
    given = json.loads((INFRA / "main.parameters.json").read_text())["parameters"]
    declared = {declared_name(node) for node in parse(INFRA / "main.bicep").declarations(PARAMETER)}
    assert set(given) == declared - {"freshPageTokenKey"}


def test_a_variable_that_is_not_set_or_empty_gives_a_parameter_its_own_default() -> None:
    """A workflow sets every variable, most of them to nothing; `azd` leaves out what is then empty or null."""
    given = json.loads((INFRA / "main.parameters.json").read_text())["parameters"]
    main = parse(INFRA / "main.bicep")
    for node in main.declarations(PARAMETER):
        name, kind = declared_name(node), text(parts(node)[1])
        if name in given and name not in {"environmentName", "location"}:
            (_, default) = re.fullmatch(r"\$\{(\w+)=?([^}]*)\}", given[name]["value"]).groups()  # type: ignore[union-attr]
            written = text(parts(node)[2]).strip("'")
            assert default == {"{}": "null"}.get(written, written), name
            assert kind not in {"array", "object"} or json.loads(default) in ([], None)


def test_no_template_asks_for_a_key() -> None:
    """`listKeys` and its kin would put a secret into settings or outputs."""
    asking = re.compile(r"\blist[A-Z]\w*\(|AccountKey|SharedAccessKey")
    assert [path.name for path in all_templates() if asking.search(path.read_text())] == []


DEPLOYER_HEADING: Final = "### The person who deploys"


def test_the_person_who_deploys_has_the_roles_of_their_table() -> None:
    """In what is created: to load facts and events, and to read indexes."""
    resources = deploy(INFRA / "main.bicep", {**BASE, "principalId": DEPLOYER}, EVERYTHING)
    assert given_roles(resources, to_deployer=True) == set(documented_roles(DEPLOYER_HEADING))


@pytest.mark.parametrize(
    "parameters",
    [{"principalType": "ServicePrincipal"}, {"deployerAccess": False}, {"principalId": ""}],
    ids=["a workflow", "not wanted", "no one"],
)
def test_only_a_person_who_deploys_gets_roles(parameters: dict[str, object]) -> None:
    """A workflow has no use for them, and they can be left out."""
    resources = deploy(INFRA / "main.bicep", {**BASE, "principalId": DEPLOYER, **parameters}, EVERYTHING)
    assert given_roles(resources, to_deployer=True) == set()


def test_the_person_who_deploys_gets_no_role_in_what_was_brought() -> None:
    """The owner of an account gives roles there."""
    parameters, definitions = SCENARIOS["all brought along"]
    resources = deploy(INFRA / "main.bicep", {**parameters, "principalId": DEPLOYER}, definitions)
    mine = [one for one in resources if one.body.get("properties", {}).get("principalId") == DEPLOYER]
    assert mine
    assert [one for one in mine if "/resourceGroups/mine/" in one.id] == []


def test_every_service_that_the_code_calls_has_a_role() -> None:
    """The table of roles names the package that needs each of them."""
    pattern = re.compile(r"^\s*(?:from|import) (azure\.(?:data|storage|cosmos|eventhub)[\w.]*)", re.MULTILINE)
    files = [path for folder in ("functions", "shared") for path in (ROOT / folder).rglob("*.py")]
    imported = {name.removesuffix(".aio") for path in files for name in pattern.findall(path.read_text())}
    needs = " ".join(documented_roles().values())
    assert [
        name for name in sorted(imported) if not any(word in needs for word in (name, name.rpartition(".")[0]))
    ] == []
