"""Lookups over HTTP, through the function host, on a real Table service."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
import requests

from tests.functions.apps import RunningApp, serving
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BY_TOWN = "/api/indexes/customers-by-town/entries"
BY_NAME = "/api/indexes/customers-by-name/entries"
BY_AGE = "/api/indexes/customers-by-age/entries"
ORDERS = "/api/indexes/orders-newest-first/entries"
SECRETS = ("555-0001", "ann1@example.com", "Ann 01", "Redmond")


@pytest.fixture(scope="module")
def app(lookup_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """This project's app with the facts of `lookup_facts` in its tables."""
    with serving(ROOT, lookup_settings, "--http-only", log_folder=tmp_path_factory.mktemp("app")) as running:
        yield running


def get(app: RunningApp, target: str, headers: dict[str, str] | None = None) -> requests.Response:
    """A GET whose path and query reach the host exactly as written."""
    request = requests.Request("GET", app.url, headers=headers or {}).prepare()
    request.url = app.url + target
    with requests.Session() as session:
        return session.send(request, timeout=10)


def ids(answer: requests.Response) -> list[str]:
    """The ids of a page's entries."""
    assert answer.status_code == 200, answer.text
    return [entry["id"] for entry in answer.json()["value"]]


def test_a_lookup_answers_with_entries_in_order(app: RunningApp) -> None:
    """Jones comes before Smith, Ann 01 before Ann 02."""
    assert ids(get(app, f"{BY_TOWN}?town=Redmond")) == ["20", "1", "2", "3", "4", "5", "6", "7"]


def test_an_entry_has_id_partition_key_version_key_and_data(app: RunningApp) -> None:
    """`data` holds what the index projects, in the fact's own shape."""
    entry = get(app, f"{BY_TOWN}?town=Redmond&lastName=Smith&firstName=Ann%2001").json()["value"][0]
    version = entry.pop("version")
    assert len(version) == 44
    assert entry == {
        "id": "1",
        "partitionKey": "c-1",
        "key": {"town": "Redmond", "lastName": "Smith", "firstName": "Ann 01"},
        "data": {"phone": "555-0001", "email": "ann1@example.com", "address": {"street": "Street 1"}},
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("town=Redmond&lastName=Smith&firstName=Ann+03", ["3"]),
        ("town=Redmond&lastName.ge=K", ["1", "2", "3", "4", "5", "6", "7"]),
        ("town=Redmond&lastName=Smith&firstName.gt=Ann%2005", ["6", "7"]),
        ("town=Redmond&lastName=Smith&firstName.ge=Ann%2002&firstName.lt=Ann%2004", ["2", "3"]),
        ("town=Redmond&lastName.prefix=J", ["20"]),
        ("town=", ["22"]),
        ("town=Nowhere", []),
        ("town=Redmond&lastName.gt=Z&lastName.lt=A", []),
    ],
)
def test_conditions_choose_entries(app: RunningApp, query: str, expected: list[str]) -> None:
    """Equality, ranges and prefixes; an empty value is the empty text, not nothing."""
    assert ids(get(app, f"{BY_TOWN}?{query}")) == expected


def test_folded_parts_ignore_case_and_nulls_are_found(app: RunningApp) -> None:
    """Answers show the original spelling; nulls come first."""
    found = get(app, f"{BY_NAME}?lastName=SMITH").json()["value"]
    assert [entry["key"]["lastName"] for entry in found][:2] == ["smith", "Smith"]
    assert ids(get(app, f"{BY_NAME}?lastName=smith&firstName.null=true")) == ["21"]


def test_shards_are_merged_in_descending_order(app: RunningApp) -> None:
    """The oldest first, although four shards hold them."""
    found = get(app, f"{BY_AGE}?isVip=yes&maxpagesize=5").json()
    assert [entry["key"]["age"] for entry in found["value"]] == [43, 42, 41, 40, 27]
    assert "nextLink" in found


def test_times_are_compared_by_instant(app: RunningApp) -> None:
    """An offset is normalised; the newest comes first."""
    query = f"customer=c-1&paid=false&placedAt.ge={quote('2024-05-03T14:00:00+02:00')}"
    assert ids(get(app, f"{ORDERS}?{query}")) == ["o5", "o3"]


def test_a_lookup_is_paged_by_absolute_links_without_keys(app: RunningApp) -> None:
    """Each link is followed as it is; `code` and `clientId` are never in it."""
    link: str | None = f"{app.url}{BY_TOWN}?town=Redmond&maxpagesize=3&code=secret&clientId=me"
    pages = []
    while link is not None:
        answer = requests.get(link, timeout=10)
        pages.append(ids(answer))
        link = answer.json().get("nextLink")
        if link is not None:
            assert link.startswith(f"{app.url}{BY_TOWN}?")
            assert {name for name, _ in parse_qsl(urlsplit(link).query)} == {"town", "maxpagesize", "token"}
    assert pages == [["20", "1", "2"], ["3", "4", "5"], ["6", "7"]]


def test_select_narrows_data(app: RunningApp) -> None:
    """Also to a field inside a field."""
    found = get(app, f"{BY_TOWN}?town=Redmond&lastName=Jones&select=phone,address.street").json()
    assert found["value"][0]["data"] == {"phone": "555-0020", "address": {"street": "Street 20"}}


def test_a_page_that_has_not_changed_is_not_sent_again(app: RunningApp) -> None:
    """304 for the ETag, also as one of several or weak; another query has another ETag."""
    first = get(app, f"{BY_TOWN}?town=Redmond")
    etag = first.headers["ETag"]
    assert first.headers["Cache-Control"] == "private, no-cache"
    for offered in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        again = get(app, f"{BY_TOWN}?town=Redmond", {"If-None-Match": offered})
        assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
    assert get(app, f"{BY_TOWN}?town=Redmond&maxpagesize=1", {"If-None-Match": etag}).status_code == 200


def test_values_cannot_leave_their_place_in_the_filter(app: RunningApp) -> None:
    """A town that looks like OData is a town."""
    town = quote("O'Hare' or PartitionKey ne '", safe="")
    assert ids(get(app, f"{BY_TOWN}?town={town}")) == ["23"]
    name = quote("x/y#z?", safe="")
    assert ids(get(app, f"{BY_TOWN}?town={town}&lastName={name}")) == ["23"]
    assert ids(get(app, f"{BY_TOWN}?town={quote(chr(39) + ' or 1 eq 1')}")) == []


BAD_LOOKUPS = [
    (f"{BY_TOWN}", 400, "MissingPartitionPart"),
    (f"{ORDERS}?customer=c-1", 400, "MissingPartitionPart"),
    (f"{BY_TOWN}?town.ge=R", 400, "RangeOnPartition"),
    (f"{BY_TOWN}?town=R&lastName.ge=A&firstName.lt=B", 400, "TwoRanges"),
    (f"{BY_TOWN}?town=R&lastName.ge=A&firstName=B", 400, "RangeBeforeEquality"),
    (f"{BY_TOWN}?town=R&firstName=B", 400, "SortPartSkipped"),
    (f"{BY_TOWN}?town=R&lastName=A&lastName.ge=B", 400, "ConflictingConditions"),
    (f"{BY_TOWN}?town=R&lastName.null=true", 400, "NullsNotKept"),
    (f"{BY_NAME}?lastName=R&firstName.null=yes", 400, "InvalidParameterValue"),
    (f"{BY_TOWN}?towm=R", 400, "UnknownParameter"),
    (f"{BY_TOWN}?town=R&lastName.like=A", 400, "UnknownParameter"),
    (f"{BY_TOWN}?town=R&town=S", 400, "RepeatedParameter"),
    (f"{BY_TOWN}?town=%ff", 400, "InvalidEncoding"),
    (f"{BY_TOWN}?town={'x' * 10_000}", 400, "ParameterTooLong"),
    (f"{BY_TOWN}?" + "&".join(f"p{number}=1" for number in range(41)), 400, "TooManyParameters"),
    (f"{BY_TOWN}?town=R&maxpagesize=0", 400, "InvalidPageSize"),
    (f"{BY_TOWN}?town=R&maxpagesize=1001", 400, "InvalidPageSize"),
    (f"{BY_TOWN}?town=R&maxpagesize=ten", 400, "InvalidPageSize"),
    (f"{BY_TOWN}?town=R&select=salary", 400, "UnknownField"),
    (f"{BY_TOWN}?town=R&select=", 400, "InvalidParameterValue"),
    (f"{BY_TOWN}?town=R&select=" + ",".join(["phone"] * 51), 400, "TooManyFields"),
    (f"{BY_TOWN}?town=R&expand=everything", 400, "InvalidParameterValue"),
    (f"{BY_TOWN}?town=R&sees=%7B", 400, "InvalidSees"),
    (f"{BY_TOWN}?town=R&token=AAAA", 400, "InvalidToken"),
    (f"{BY_AGE}?isVip=yes&age=old", 400, "InvalidValue"),
    (f"{BY_AGE}?isVip=yes&age=1&rate=1e999", 400, "InvalidValue"),
    (f"{BY_AGE}?isVip=yes&age.prefix=1", 400, "InvalidOperator"),
    (f"{ORDERS}?customer=c-1&paid=maybe", 400, "InvalidValue"),
    (f"{ORDERS}?customer=c-1&paid=true&placedAt.ge=yesterday", 400, "InvalidDate"),
    (f"{ORDERS}?customer=c-1&paid=true&placedAt.ge=2024-02-30", 400, "InvalidDate"),
    (f"{ORDERS}?customer=c-1&paid=true&expand=fact", 400, "ExpandNotPossible"),
    ("/api/indexes/customers-by-twn/entries?town=R", 404, "IndexNotFound"),
    ("/api/indexes/customers-by-twn/explain?town=R", 404, "IndexNotFound"),
    ("/api/indexes/customers-by-twn", 404, "IndexNotFound"),
    ("/api/indexes/customers%3Fby/entries?town=R", 404, "IndexNotFound"),
    ("/api/indexes?town=R", 400, "UnknownParameter"),
    ("/api/indexes/customers-by-town?town=R", 400, "UnknownParameter"),
    ("/api/indexes/customers-by-town/explain?towm=R", 400, "UnknownParameter"),
    ("/api/openapi.json?town=R", 400, "UnknownParameter"),
]


def check_problem(answer: requests.Response, status: int, code: str) -> dict[str, Any]:
    """The one shape of every error."""
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["x-ms-error-code"] == code
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    problem: dict[str, Any] = answer.json()
    assert problem.keys() - {"errors", "suggestion"} == {"type", "title", "status", "detail", "code"}
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["type"] == f"urn:index-tables:problem:{code}"
    assert problem["detail"].endswith((".", "?"))
    return problem


@pytest.mark.parametrize(("target", "status", "code"), BAD_LOOKUPS)
def test_bad_input_has_a_code_of_its_own_and_one_shape(app: RunningApp, target: str, status: int, code: str) -> None:
    """Whatever is wrong, wherever: a problem that names it."""
    check_problem(get(app, target), status, code)


def test_a_message_names_what_is_wrong_and_what_is_near(app: RunningApp) -> None:
    """People correct a typing error without opening the documentation."""
    unknown = get(app, "/api/indexes/customers-by-twn/entries").json()["detail"]
    assert unknown.startswith("There is no index 'customers-by-twn'. Did you mean customers-by-town")
    assert "Did you mean lastName" in get(app, f"{BY_TOWN}?town=R&lastNam=x").json()["detail"]
    assert get(app, f"{BY_AGE}?isVip=yes&age=old").json()["detail"] == (
        "age is 'old'; age takes a whole number such as 12."
    )


def test_all_faults_are_listed_at_once(app: RunningApp) -> None:
    """The first gives the code."""
    problem = check_problem(get(app, f"{BY_AGE}?age=old&maxpagesize=0&x=1"), 400, "UnknownParameter")
    codes = [each["code"] for each in problem["errors"]]
    assert codes == ["UnknownParameter", "InvalidPageSize", "InvalidValue", "MissingPartitionPart"]


def test_a_token_of_another_lookup_is_refused(app: RunningApp) -> None:
    """Another town, another index, one character changed."""
    link = get(app, f"{BY_TOWN}?town=Redmond&maxpagesize=2").json()["nextLink"]
    token = dict(parse_qsl(urlsplit(link).query))["token"]
    changed = token[:-2] + ("A" if token[-2] != "A" else "B") + token[-1]
    for target in (
        f"{BY_TOWN}?town=Oslo&maxpagesize=2&token={token}",
        f"{BY_TOWN}?town=Redmond&maxpagesize=3&token={token}",
        f"{BY_NAME}?lastName=Redmond&maxpagesize=2&token={token}",
        f"{BY_TOWN}?town=Redmond&maxpagesize=2&token={changed}",
        f"{BY_TOWN}?town=Redmond&maxpagesize=2&token={token}!",
    ):
        check_problem(get(app, target), 400, "InvalidToken")


def test_explain_tells_how_a_lookup_would_run(app: RunningApp) -> None:
    """Access class, bounds, shards and transactions, without reading anything."""
    shown = get(app, "/api/indexes/customers-by-age/explain?isVip=yes&age.ge=30").json()
    assert (shown["access"], shown["shards"], shown["storageTransactionsPerPage"]) == ("fan-out", 4, 4)
    assert shown["partitionKeys"] == ["000 yes !", "001 yes !", "002 yes !", "003 yes !"]


def test_explain_says_why_a_lookup_is_refused(app: RunningApp) -> None:
    """A scan is an explanation there, not an error."""
    answer = get(app, "/api/indexes/customers-by-town/explain?lastName=Smith")
    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["access"], [each["code"] for each in shown["errors"]]) == ("refused", ["MissingPartitionPart"])


def test_the_indexes_are_listed_with_their_parts(app: RunningApp) -> None:
    """And each can be had alone."""
    listed = get(app, "/api/indexes").json()["value"]
    assert [index["name"] for index in listed] == [
        "customers-by-town",
        "customers-by-name",
        "customers-by-age",
        "orders-newest-first",
    ]
    alone = get(app, "/api/indexes/orders-newest-first").json()
    assert alone == listed[3]
    assert (alone["state"], alone["sort"][0]["type"], alone["sort"][0]["order"]) == ("serving", "datetime", "desc")


@pytest.mark.parametrize("address", ["/", "/api", "/api/", "/api/console/", "/api/docs", "/api/status/page"])
def test_all_addresses_of_pages_lead_to_the_console(app: RunningApp, address: str) -> None:
    """Also those of the pages that were there before it."""
    page = requests.get(f"{app.url}{address}", timeout=30)
    assert (page.status_code, page.url.partition("#")[0]) == (200, f"{app.url}/api/console")
    assert page.headers["Content-Type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]


def test_logs_hold_no_values(app: RunningApp) -> None:
    """Neither what was asked for nor what was found."""
    get(app, f"{BY_TOWN}?town=Redmond")
    assert [secret for secret in SECRETS if secret in app.program.output] == []


def test_facts_are_fetched_and_checked(app: RunningApp) -> None:
    """Entries whose fact is gone, has moved or is deleted are left out; the others show the fact as it is now."""
    answer = get(app, f"{BY_TOWN}?town=Redmond&lastName=Smith&expand=fact")
    assert ids(answer) == ["1", "5", "6", "7"]
    fifth = answer.json()["value"][1]
    assert (fifth["data"]["phone"], fifth["fact"]["phone"], fifth["fact"]["id"]) == ("555-0005", "new", "5")
    assert "ETag" not in answer.headers


def test_lookups_need_a_key_and_health_does_not(lookup_settings: dict[str, str], tmp_path: Path) -> None:
    """The console is open, what it shows is not."""
    keys_file = tmp_path / "keys.json"
    with serving(ROOT, lookup_settings, "--http-only", "--keys", str(keys_file), log_folder=tmp_path) as running:
        keys = json.loads(keys_file.read_text())
        closed = ["indexes", "indexes/customers-by-town", "openapi.json"]
        closed += [f"indexes/customers-by-town/{call}?town=x" for call in ("entries", "explain")]
        for path in closed:
            assert get(running, f"/api/{path}").status_code == 401
            assert get(running, f"/api/{path}", {"x-functions-key": "wrong"}).status_code == 401
            assert get(running, f"/api/{path}", {"x-functions-key": keys["function"]}).status_code == 200
        for path in ("health/live", "health/ready", "console"):
            assert get(running, f"/api/{path}").status_code == 200


def test_broken_definitions_are_told_with_all_faults_and_health_stays(
    lookup_settings: dict[str, str], tmp_path: Path
) -> None:
    """The app starts, so that it can say why it cannot work."""
    broken = tmp_path / "broken.yaml"
    broken.write_text("version: 1\nsources: {}\nindexes: {by-town: {source: customers, partitoin: town}}\n")
    settings = {**lookup_settings, "INDEX_DEFINITIONS": str(broken), "MCP_TOOLS": "true"}
    with serving(ROOT, settings, "--http-only", log_folder=tmp_path) as running:
        assert get(running, "/api/health/live").status_code == 200
        for path in ("health/ready", "indexes", "indexes/by-town/entries?town=x", "openapi.json"):
            problem = check_problem(get(running, f"/api/{path}"), 503, "DefinitionsBroken")
            assert len(problem["errors"]) == 2
            assert any('Did you mean "partition"?' in each["detail"] for each in problem["errors"])


@pytest.mark.parametrize(
    ("setting", "value"), [("MCP_TOOLS", "maybe"), ("SEES_SECONDS", "abc"), ("DEAD_LETTER_RETENTION_DAYS", "100")]
)
def test_an_app_with_a_wrong_setting_is_not_ready_and_names_it(
    lookup_settings: dict[str, str], tmp_path: Path, setting: str, value: str
) -> None:
    """It starts all the same, so that it can say so; it registers no triggers."""
    settings = {**lookup_settings, setting: value}
    with serving(ROOT, settings, "--http-only", log_folder=tmp_path) as running:
        problem = check_problem(get(running, "/api/health/ready"), 503, "NotConfigured")
        assert setting in problem["detail"]
        assert f"No triggers are registered: The app setting {setting}" in running.program.output


def test_storage_that_does_not_answer_is_a_problem_with_retry_after(tmp_path: Path) -> None:
    """Nothing listens on port 1."""
    dead = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;TableEndpoint=http://127.0.0.1:1/a;"
    with serving(
        ROOT, {"AzureWebJobsStorage": dead, "INDEX_STORAGE": dead}, "--http-only", log_folder=tmp_path
    ) as running:
        for path in ("health/ready", "indexes/customers-by-town/entries?town=x"):
            answer = get(running, f"/api/{path}")
            check_problem(answer, 503, "StorageUnreachable")
            assert answer.headers["Retry-After"] == "5"


# An expression that is parsed in a second, and kept.
WIDE = f"[{'a,' * 200_000}a]"


def post(app: RunningApp, index: str, body: Any) -> requests.Response:
    """Many lookups."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return requests.post(f"{app.url}/api/indexes/{index}/lookups", content, timeout=10)


def test_two_towns_are_looked_up_at_once(app: RunningApp) -> None:
    """Merged by the sort parts, page by page; with a filter on what entries carry."""
    listed = quote('["Redmond",""]')
    first = get(app, f"{BY_TOWN}?town.in={listed}&lastName.prefix=S&maxpagesize=7")
    assert ids(first) == ["1", "2", "3", "4", "5", "6", "7"]
    assert ids(requests.get(first.json()["nextLink"], timeout=10)) == ["22"]
    again = get(
        app, f"{BY_TOWN}?town.in={listed}&lastName.prefix=S&maxpagesize=7", {"If-None-Match": first.headers["ETag"]}
    )
    assert again.status_code == 304
    chosen = quote("data.phone == '555-0002' || key.town == ''")
    assert ids(get(app, f"{BY_TOWN}?town.in={listed}&filter={chosen}")) == ["2", "22"]


def test_many_lookups_are_answered_or_refused_one_by_one(app: RunningApp) -> None:
    """In the order asked; a link goes on with the lookup alone."""
    body = {
        "lookups": [{"town": "Redmond", "lastName.prefix": "S"}, {"town": ["Oslo"]}, {"town": ""}],
        "maxpagesize": 2,
    }
    answer = post(app, "customers-by-town", body)
    assert answer.status_code == 200, answer.text
    smiths, wrong, nameless = answer.json()["value"]
    assert [entry["id"] for entry in smiths["value"]] == ["1", "2"]
    assert ids(requests.get(smiths["nextLink"], timeout=10)) == ["3", "4"]
    assert (wrong["error"]["status"], wrong["error"]["code"]) == (400, "InvalidParameterValue")
    assert [entry["id"] for entry in nameless["value"]] == ["22"]
    assert nameless.keys() == {"value"}


@pytest.mark.parametrize(
    ("index", "body", "status", "code"),
    [
        ("customers-by-town", b"[", 400, "BadRequest"),
        ("customers-by-town", b"x" * 10_000_000, 400, "BadRequest"),
        ("customers-by-town", {"lookups": {}}, 400, "BadRequest"),
        ("customers-by-town", {"lookups": [{}] * 101}, 400, "InvalidParameterValue"),
        ("customers-by-town", {"lookups": [{}], "town": "x"}, 400, "BadRequest"),
        ("customers-by-twon", {"lookups": [{"town": "x"}]}, 404, "IndexNotFound"),
        ("customers-by-town", {"lookups": [{"town": "x"}], "filter": WIDE}, 400, "ParameterTooLong"),
    ],
)
def test_a_call_with_a_bad_body_is_refused(app: RunningApp, index: str, body: Any, status: int, code: str) -> None:
    """As a whole, with a problem."""
    answer = post(app, index, body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_a_lookup_in_a_body_keeps_to_the_limits_of_an_address(app: RunningApp) -> None:
    """Its list of values may be longer: their number is limited."""
    wrong: list[dict[str, Any]] = [
        {"town": "", "filter": WIDE},
        {"town": "x" * 10_000},
        {f"p{number}": 1 for number in range(41)},
    ]
    answer = post(app, "customers-by-town", {"lookups": [*wrong, {"town.in": ["", *(f"{n:0200}" for n in range(40))]}]})
    *refused, listed = answer.json()["value"]
    assert [each["error"]["code"] for each in refused] == ["ParameterTooLong", "ParameterTooLong", "TooManyParameters"]
    assert [entry["id"] for entry in listed["value"]] == ["22"]


def test_entries_are_counted(app: RunningApp) -> None:
    """With the conditions of a lookup; an unchanged count is 304."""
    target = "/api/indexes/customers-by-town/count?town=Redmond&lastName=Smith"
    answer = get(app, target)
    assert answer.json() == {"count": 7, "isExact": True}
    assert get(app, target, {"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert get(app, f"{target}&maxpagesize=1").json()["code"] == "UnknownParameter"
