"""The console, as newcomers and operators use it, in a real Chromium."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from typing import TYPE_CHECKING, Any, Final, Literal

import jwt
import pytest
import requests

from local.host.http.sign_in import ALGORITHM, AUDIENCE, ISSUER, read_or_create
from tests.e2e.browsing import chromium, opened, started, violations
from tests.functions.apps import serving as serving_app
from tests.support import ROOT, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tests.e2e.browsing import Run

DEFINITIONS: Final = """
version: 1
sources:
  people: {cosmos: {database: test, container: people}, partitionKey: team}
  orders: {eventHub: orders, events: {id: data.id, version: data.revision, document: body}}
indexes:
  people-by-town: {source: people, partition: town, sort: [name], project: [phone]}
  people-by-team: {source: people, partition: team, sort: [{path: age, type: integer, order: desc}], project: keys}
  orders-by-state: {source: orders, partition: state, project: all}
"""
# The first has a mistake: events of orders have no `body`.
FIXED: Final = DEFINITIONS.replace("document: body", "document: data")
CHANGED: Final = DEFINITIONS.replace("project: [phone]", "project: [phone, email]")
MANY: Final = 500
EVIL: Final = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"
# In light and dark, on a phone and on a screen.
LOOKS: Final[tuple[tuple[Literal["light", "dark"], int], ...]] = (
    ("light", 390),
    ("light", 1280),
    ("dark", 390),
    ("dark", 1280),
)
PAGES: Final = {
    "": "#headline",
    "indexes": "[data-row=people-by-town]",
    "indexes/people-by-town": ".chip",
    "indexes/people-by-town?town=Oslo&maxpagesize=5": ".drawing",
    "indexes/people-by-town/about": ".share",
    "indexes/people-by-town?town=Nowhere": ".empty",
    "dead-letters": "tbody tr",
    "operations": "tbody tr",
    "operations/people-by-town": ".cost",
    "api/find.people-by-town": ".try",
    "nowhere": ".empty",
}


def person(number: int, **more: Any) -> dict[str, Any]:
    """A fact."""
    return {
        "id": f"p{number}",
        "team": "a",
        "town": "Oslo",
        "name": f"N{number:03}",
        "phone": "1",
        "age": number,
        **more,
    }


def order(**data: Any) -> dict[str, Any]:
    """An event as the mapping of `orders` reads it."""
    return {"data": {"id": "o1", "revision": 1, "state": "open", **data}}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One run for all tests of this file: a large town, a fact with evil values, and dead letters."""
    with started(tmp_path_factory.mktemp("console"), DEFINITIONS) as run:
        run.write(*(person(number) for number in range(MANY)))
        run.write(person(MANY, id="evil", town=EVIL, name=EVIL, phone=EVIL), person(MANY + 1, id="old", age=EVIL))
        run.send("orders", order())
        wait_until(lambda: run.applied() >= MANY + 2, "the facts are applied")
        wait_until(lambda: run.get("status")["deadLetters"]["count"] == 2, "two dead letters")
        yield run


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, run: Run) -> Iterator[Page]:
    """The console, with the admin key."""
    with opened(browser, f"{run.url}/", run.admin_key) as page:
        yield page


def go(page: Page, place: str) -> None:
    """To a page of the console; without a load, so that the key stays."""
    page.evaluate("(place) => { location.hash = `#/${place}`; }", place)


def column(page: Page, number: int) -> list[str]:
    """What the rows of the first table show in a column."""
    return [str(text) for text in page.locator(f"tbody tr > :nth-child({number})").all_inner_texts()]


def test_a_key_is_asked_for_and_kept_nowhere(browser: Browser, run: Run) -> None:
    """A wrong key is told; a key of functions opens what is for readers, and not what is for operators."""
    assert "people" not in requests.get(f"{run.url}/", timeout=10).text
    key = str(run.found["keys"]["function"])
    with opened(browser, f"{run.url}/") as page:
        page.get_by_label("Key", exact=True).wait_for()
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        page.get_by_text("What you gave is not accepted.").wait_for()
        page.get_by_label("Key", exact=True).fill(key)
        page.keyboard.press("Enter")
        page.wait_for_selector("#headline")
        kept = page.evaluate("[location.href, document.cookie, ...Object.values({...localStorage, ...sessionStorage})]")
        assert key not in " ".join(kept)
        go(page, "dead-letters")
        page.get_by_text("The admin key is needed").wait_for()
        page.keyboard.type(run.admin_key)
        page.keyboard.press("Enter")
        page.wait_for_selector("tbody tr")


def test_a_newcomer_has_entries_after_two_clicks(page: Page) -> None:
    """From the first page: an index, and a value that there is."""
    page.get_by_role("navigation", name="Indexes").get_by_role("link", name="people-by-town").click()
    page.get_by_role("button", name="Oslo").click()
    page.wait_for_selector("tbody tr")
    assert column(page, 1)[:2] == ["Oslo", "Oslo"]
    assert column(page, 2)[:2] == ["N000", "N001"]
    page.wait_for_selector(".drawing")
    assert "1 transaction" in page.inner_text(".drawing")


def test_pages_are_turned_forward_and_back(page: Page) -> None:
    """Each of five hundred entries is shown once; going back asks nothing."""
    go(page, "indexes/people-by-town?town=Oslo&name.prefix=N")
    found = []
    for number in range(1, 6):
        page.get_by_text(f"{number * 100}" if number > 1 else "100 entries").first.wait_for()
        found += column(page, 2)
        if number < 5:
            page.get_by_role("button", name="Next page").click()
    assert found == [f"N{number:03}" for number in range(MANY)]
    page.get_by_role("button", name="Previous page").click()
    assert column(page, 2)[0] == "N300"


def test_a_row_opens_with_its_fact_and_closes_by_keyboard(page: Page) -> None:
    """The fact has what the index does not carry; the focus comes back to the row."""
    go(page, "indexes/people-by-town?town=Oslo&name=N007")
    page.get_by_role("button", name="Open p7").focus()
    page.keyboard.press("Enter")
    fact = page.get_by_role("region", name="Fact")
    fact.wait_for()
    assert '"age": 7' in fact.inner_text()
    assert '"phone": "1"' in page.get_by_role("region", name="Entry", exact=True).inner_text()
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    assert page.evaluate("document.activeElement.textContent") == "Open"


def test_the_form_follows_the_key_and_the_address_has_the_question(page: Page) -> None:
    """A part opens when the one before it has a value; whoever gets the address sees the same question."""
    go(page, "indexes/people-by-team")
    town, age = page.locator("[data-part=team]"), page.locator("[data-part=age]")
    assert age.get_by_role("combobox").is_disabled()
    town.get_by_role("textbox").or_(town.get_by_label("team", exact=True)).last.fill("a")
    age.get_by_role("combobox").select_option("between")
    age.get_by_label("age from").fill("3")
    age.get_by_label("age to").fill("5")
    page.keyboard.press("Enter")
    page.wait_for_selector("tbody tr")
    assert column(page, 2) == ["5", "4", "3"]
    assert page.url.endswith("#/indexes/people-by-team?team=a&age.ge=3&age.le=5")
    page.reload()
    page.get_by_label("Key", exact=True).wait_for()
    assert page.url.endswith("age.le=5")


def test_a_lookup_runs_in_a_terminal_as_it_is_copied(page: Page, run: Run) -> None:
    """The line for curl finds the same; the key in it is the name of a variable."""
    go(page, 'indexes/people-by-town?town.in=["Oslo","Lund"]&name.prefix=N00&maxpagesize=3')
    page.wait_for_selector("tbody tr")
    line = page.get_by_role("region", name="curl").inner_text()
    assert run.admin_key not in line
    done = subprocess.run(
        ["bash", "-c", line],
        env={"INDEX_TABLES_KEY": run.admin_key, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.findall(r'"name":"(\w+)"', done.stdout) == column(page, 2) == ["N000", "N001", "N002"]
    for language, begins in (("Python", "import os"), ("TypeScript", "import {"), ("CLI", "index-tables query")):
        page.get_by_role("button", name=language, exact=True).click()
        page.get_by_role("region", name=language).get_by_text(begins).wait_for()


def test_how_a_lookup_of_several_values_runs_is_drawn(page: Page) -> None:
    """Each of its partitions, and what is read of it."""
    for condition, read in (("", "all rows"), ("&name.prefix=N00", "what begins with N00")):
        go(page, f'indexes/people-by-town?town.in=["Oslo","Lund"]{condition}')
        page.locator(".drawing").get_by_text(read, exact=True).nth(1).wait_for()
        assert "2 partitions" in page.inner_text(".drawing")


def test_what_the_definition_and_the_statistics_say_is_shown(page: Page, run: Run) -> None:
    """The definition loads as it stands there; entries are an estimate, and say so."""
    go(page, "indexes/people-by-team/about")
    page.wait_for_selector(".share")
    shown = page.get_by_role("region", name="the definition").inner_text()
    assert "sort: {path: age, type: integer, order: desc}" in shown
    statistics = next(one for one in run.get("advice")["indexes"] if one["name"] == "people-by-team")["statistics"]
    assert f"≈ {statistics['entries']}" in page.inner_text("main")


def test_the_overview_tells_the_truth_and_what_needs_attention(page: Page) -> None:
    """Dead letters are no reason to say that all is well, and lead to themselves."""
    page.locator("#headline").get_by_text("Up to date, but for 2 dead letters", exact=True).wait_for()
    # They are drawn once their place is measured.
    page.locator(".chart canvas").nth(4).wait_for()
    assert page.locator(".chart canvas").count() == 5
    page.get_by_role("listitem").filter(has_text="people-by-team: wrongType").get_by_role("link").click()
    page.wait_for_selector("tbody tr")
    assert page.url.endswith("#/dead-letters?source=people&index=people-by-team&kind=wrongType")
    assert len(column(page, 1)) == 1


def test_values_names_and_reasons_never_become_markup(page: Page) -> None:
    """In results, suggestions, dialogs, dead letters and answers; `page` fails when a script of theirs runs."""
    go(page, "indexes/people-by-town")
    page.get_by_role("button", name=EVIL).click()
    page.get_by_role("button", name="Open evil").click()
    page.get_by_role("region", name="Fact").get_by_text("onerror").first.wait_for()
    page.keyboard.press("Escape")
    go(page, "dead-letters?kind=wrongType")
    page.get_by_role("button", name="Open the dead letter of old").click()
    page.wait_for_selector("mark.marked")
    page.get_by_role("dialog").locator("p code").get_by_text("age", exact=True).wait_for()
    assert EVIL.partition('"')[0] in page.inner_text("mark.marked")
    page.keyboard.press("Escape")
    for place in (
        f"indexes/{EVIL}",
        f"operations/{EVIL}",
        f"indexes/people-by-town?town={EVIL}&filter={EVIL}",
        f"dead-letters?reason={EVIL}&kind={EVIL}",
    ):
        go(page, place)
        page.wait_for_selector(".empty, [role=alert]")
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0


def test_a_link_that_the_index_cannot_answer_shows_what_would(page: Page) -> None:
    """The definition of an index; and what is wrong with a filter is told in the place of entries."""
    go(page, "indexes/people-by-town?name=N001")
    page.wait_for_selector("[data-problem=MissingPartitionPart]")
    page.get_by_role("region", name="the definition").get_by_text("people-by-name").wait_for()
    go(page, "indexes/people-by-town?town=Oslo&filter=[")
    page.wait_for_selector("[data-problem=InvalidFilter]")


def test_calls_are_found_tried_and_followed(page: Page) -> None:
    """By a word of theirs; a list is a table, and the next page a button."""
    go(page, "api")
    page.wait_for_selector(".calls")
    groups = ["Lookups", "Status", "Dead letters", "Builds", "Verifications", "Erasures"]
    assert page.locator("main h2").all_inner_texts() == ["people-by-town", "people-by-team", "orders-by-state", *groups]
    erasures = page.locator("main section").filter(has=page.get_by_role("heading", name="Erasures", exact=True))
    assert "/api/erasures" in erasures.inner_text()
    page.get_by_label("Search calls").fill("look up entries town")
    page.get_by_role("button", name="people-by-town/entries").click()
    page.get_by_label("town", exact=True).or_(page.locator("input[name=town]")).last.fill("Oslo")
    page.locator("input[name=maxpagesize]").fill("2")
    page.get_by_role("button", name="Send").click()
    page.wait_for_selector(".answer tbody tr")
    first = column(page, 1)
    page.get_by_role("button", name="Next page").click()
    wait_until(lambda: column(page, 1) not in ([], first), "the next page")
    page.get_by_role("button", name="JSON", exact=True).click()
    page.get_by_role("region", name="Answer as JSON").get_by_text('"nextLink"').wait_for()


def test_a_call_of_operators_is_sent_with_its_body(page: Page) -> None:
    """What the app says of it is shown."""
    go(page, "api/switchIndex")
    page.wait_for_selector(".calls")
    if not page.locator(".try").count():
        page.get_by_label("Search calls").fill("POST switch")
        page.locator(".call .head").first.click()
    page.locator("select[name=name]").select_option("people-by-town")
    page.locator("textarea").fill('{"force": "yes"}')
    page.get_by_role("button", name="Send").click()
    page.get_by_text("The member force of the body is not true or false").wait_for()


def test_updates_are_paused_by_keyboard(page: Page) -> None:
    """So that nothing moves while a person reads."""
    pause = page.get_by_role("button", name="Pause updates")
    pause.focus()
    page.keyboard.press("Enter")
    assert page.get_by_role("button", name="Resume updates").get_attribute("aria-pressed") == "true"


def test_every_page_is_accessible_and_as_wide_as_the_screen(browser: Browser, run: Run) -> None:
    """axe finds nothing, also while a key is asked for and in a dialog; nothing is to be scrolled sideways."""
    with opened(browser, f"{run.url}/", reduced_motion="reduce") as page:
        page.get_by_label("Key", exact=True).wait_for()
        found = {"key": flaws(page)}
        page.keyboard.type(run.admin_key)
        page.keyboard.press("Enter")
        page.wait_for_selector("#headline")
        for place, shown in PAGES.items():
            go(page, place)
            page.wait_for_selector(shown)
            found[place] = flaws(page)
        go(page, "indexes/people-by-town?town=Oslo&name=N007")
        page.get_by_role("button", name="Open p7").click()
        page.get_by_role("region", name="Fact").wait_for()
        found["dialog"] = flaws(page)
        assert {place: wrong for place, wrong in found.items() if wrong} == {}


def flaws(page: Page) -> list[str]:
    """What is wrong with a page, in any look."""
    found = []
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        too_wide: list[str] = page.evaluate(TOO_WIDE)
        wrong = [*violations(page), *(f"too much for its width: {what}" for what in too_wide)]
        found += [f"{scheme} {width}: {what}" for what in wrong]
    return found


# The page itself, and everything with a frame, must hold what is in it.
TOO_WIDE: Final = """[...document.querySelectorAll("html, .side, main .panel, main .notice, dialog")]
  .filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => `${one.tagName} ${one.innerText.slice(0, 80)}`)"""


def test_an_app_that_starts_again_is_asked_again(page: Page) -> None:
    """What could not be loaded meanwhile comes by itself."""
    page.route("**/api/openapi.json", lambda route: route.abort())
    go(page, "api")
    page.get_by_role("alert").filter(has_text="The app does not answer").wait_for()
    page.unroute("**/api/openapi.json")
    page.wait_for_selector(".calls")


def test_faults_of_a_changed_file_are_told_while_the_one_before_it_serves(page: Page, run: Run) -> None:
    """With file and line, until they are gone."""
    file = run.folder / "indexes.yaml"
    before = file.read_text()
    file.write_text(before.replace("sort: [name]", "srot: [name]"))
    page.locator(".notice", has_text=re.compile(r"indexes\.yaml:\d+.*srot")).wait_for()
    file.write_text(before)
    page.locator(".notice", has_text="srot").wait_for(state="detached")
    page.locator("#headline", has_text="Up to date").wait_for()


def test_an_outage_and_its_end_are_told(page: Page, run: Run) -> None:
    """On the overview, and where entries are looked up; afterwards everything is back."""
    page.wait_for_selector("#headline")
    with run.without_storage():
        page.locator("#headline", has_text="The index storage does not answer").wait_for()
        page.locator(".notice", has_text="Not known right now").first.wait_for()
        go(page, "indexes/people-by-town?town=Oslo")
        page.wait_for_selector("[data-problem=StorageUnreachable]")
        go(page, "")
    page.locator("#headline", has_text="Up to date").wait_for()
    go(page, "indexes/people-by-town?town=Oslo&name=N001")
    page.wait_for_selector("tbody tr")


def test_a_poison_event_is_replayed_after_its_fix(page: Page, run: Run) -> None:
    """It could not be read; with the right definition it can, and is an entry."""
    go(page, "dead-letters?kind=unreadable")
    page.wait_for_selector("tbody tr")
    run.deploy(FIXED)
    wait_until(lambda: run.ask("health/ready").status_code == 200, "the app is back")
    page.get_by_role("button", name="Replay all that match").click()
    page.get_by_text("1 applied: in its index now").wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("No dead letter matches").wait_for()
    go(page, "indexes/orders-by-state?state=open")
    page.get_by_role("button", name="Open o1").wait_for()


def test_dead_letters_are_purged_after_a_question(page: Page, run: Run) -> None:
    """Only those that the filter names; what is said first is which."""
    run.write(person(MANY + 2, id="purged", age="none"))
    wait_until(lambda: any(one["fact"]["id"] == "purged" for one in letters(run)), "a dead letter")
    go(page, "dead-letters?reason='none'")
    page.get_by_role("button", name="Purge…").click()
    page.get_by_text("with reason 'none'").wait_for()
    page.get_by_label("Older than this many days").fill("0")
    page.get_by_role("button", name="Purge for good").click()
    page.get_by_text("1 dead letter is forgotten.").wait_for()
    assert "purged" not in [one["fact"]["id"] for one in letters(run)]


def letters(run: Run) -> list[dict[str, Any]]:
    """The dead letters of people."""
    found: list[dict[str, Any]] = run.get("dead-letters?source=people")["value"]
    return found


def test_a_changed_definition_is_built_verified_switched_to_and_rolled_back(page: Page, run: Run) -> None:
    """Step by step, with what each costs before it starts."""
    run.deploy(CHANGED)
    wait_until(lambda: defined(run) != serving(run), "the new definition is registered", 60)
    before, after = serving(run), defined(run)
    go(page, "operations")
    page.get_by_role("row").filter(has_text="to be built").get_by_role("link", name="Build it").click()
    build = page.locator("[data-step=build]")
    build.get_by_text(re.compile(r"Will take about \d+ to [\d,]+ storage transactions for ≈ \d+ facts")).wait_for()
    build.get_by_role("button", name="Build").click()
    build.get_by_role("progressbar").wait_for()
    page.get_by_text("Changed definition: built, to be verified").wait_for()
    page.locator("[data-step=verify]").get_by_role("button", name="Verify", exact=True).click()
    page.get_by_text("Changed definition: verified, ready to serve").wait_for()
    page.locator("[data-step=switch]").get_by_role("button", name="Switch", exact=True).click()
    page.get_by_text("What serves is what the definition says").wait_for()
    wait_until(lambda: serving(run) == after, "it serves")
    page.get_by_role("button", name="Roll back…").click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    page.get_by_text("Changed definition: verified, ready to serve").wait_for()
    wait_until(lambda: serving(run) == before, "the one before serves")


def serving(run: Run) -> str | None:
    """The generation that serves."""
    return generation(run, "serving")


def defined(run: Run) -> str | None:
    """The generation that the definition says."""
    return generation(run, "defined")


def generation(run: Run, which: str) -> str | None:
    """One of them; none while the app does not answer."""
    try:
        found: str = run.get("indexes/people-by-town/builds")[which]["id"]
    except (requests.ConnectionError, AssertionError):
        return None
    return found


def test_a_broken_definitions_file_is_shown_with_file_and_line(browser: Browser, tmp_path: Path) -> None:
    """Every fault, and nothing of an evil name becomes markup."""
    broken = DEFINITIONS.replace("sort: [name]", "srot: [name]").replace("orders-by-state:", f"{json.dumps(EVIL)}:")
    (tmp_path / "indexes.yaml").write_text(broken)
    with (
        serving_app(ROOT, settings_without_storage(tmp_path), "--http-only", log_folder=tmp_path) as app,
        opened(browser, f"{app.url}/", reduced_motion="reduce") as page,
    ):
        page.wait_for_selector("[data-problem=DefinitionsBroken] li")
        assert "srot" in page.inner_text("main")
        assert re.search(r"indexes\.yaml:\d+", page.inner_text("main"))
        assert flaws(page) == []


def test_a_token_is_asked_for_and_roles_that_are_missing_are_named(browser: Browser, tmp_path: Path) -> None:
    """Where callers are known by Entra ID; a wrong token is told."""
    with with_tokens(browser, tmp_path) as page:
        page.get_by_label("Token", exact=True).fill("wrong")
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("What you gave is not accepted.").wait_for()
        page.get_by_label("Token", exact=True).fill(token(tmp_path, "Other"))
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("it needs the app role Index.Read or Index.Operate").first.wait_for()
        assert flaws(page) == []


def test_what_is_copied_sends_a_token_where_one_was_given(browser: Browser, tmp_path: Path) -> None:
    """As the clients take it; the line for curl is answered."""
    with with_tokens(browser, tmp_path) as page:
        secret = token(tmp_path, "Index.Read")
        page.get_by_label("Token", exact=True).fill(secret)
        page.get_by_role("button", name="Continue").click()
        go(page, "api/getOpenApi")
        line = page.get_by_role("region", name="curl").inner_text()
        assert secret not in line
        done = subprocess.run(
            ["bash", "-c", line],
            env={"INDEX_TABLES_TOKEN": secret, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert "people-by-town" in done.stdout
        ways = {language: page.evaluate(SNIPPET, [language, []]) for language in ("curl", "Python", "TypeScript")}
        assert "Authorization: Bearer $INDEX_TABLES_TOKEN" in ways["curl"]
        assert 'credential=os.environ["INDEX_TABLES_TOKEN"]' in ways["Python"]
        assert "{ credential: process.env.INDEX_TABLES_TOKEN }" in ways["TypeScript"]


def test_what_is_copied_asks_for_no_key_where_none_is_needed(browser: Browser, tmp_path: Path) -> None:
    """As on a local run; what Python keeps for itself, or reads in another way, is written so that it runs."""
    with (
        serving_app(ROOT, settings_for(tmp_path), "--http-only", log_folder=tmp_path) as app,
        opened(browser, f"{app.url}/") as page,
    ):
        page.wait_for_selector(".side .names li")
        ways = {
            language: page.evaluate(SNIPPET, [language, [["from", "Oslo"], ["age", "007"]]])
            for language in ("curl", "Python", "TypeScript", "CLI")
        }
    assert "key" not in "".join(ways.values()).lower()
    compile(ways["Python"], "copied", "exec")
    assert 'find({"from": "Oslo"}, age="007")' in ways["Python"]
    assert f'new IndexTables("{app.url}");' in ways["TypeScript"]
    assert ways["curl"].count("\n") == 2


# Of the page's own module, which knows what the reader gave.
SNIPPET: Final = """async ([language, parameters]) => {
  const { snippet } = await import(document.querySelector('link[href$="lib/snippets.js"]').href);
  const part = (name, type) => ({ name, type });
  const index = { name: "people-by-town", partition: [part("from", "string")], sort: [part("age", "integer")] };
  return snippet(language, index, parameters);
}"""


@contextlib.contextmanager
def with_tokens(browser: Browser, folder: Path) -> Iterator[Page]:
    """The console of an app whose callers are known by Entra ID."""
    settings = {**settings_for(folder), "ACCESS": "entra"}
    read_or_create(folder / "token.key")
    arguments = ("--http-only", "--tokens", str(folder / "token.key"))
    with (
        serving_app(ROOT, settings, *arguments, log_folder=folder) as app,
        opened(browser, f"{app.url}/", reduced_motion="reduce") as page,
    ):
        yield page


def token(folder: Path, role: str) -> str:
    """A good token with a role."""
    claims = {"aud": AUDIENCE, "iss": ISSUER, "exp": int(time.time()) + 600, "roles": [role]}
    return jwt.encode(claims, read_or_create(folder / "token.key").key, algorithm=ALGORITHM)


def settings_for(folder: Path) -> dict[str, str]:
    """The same, with the definitions of this file."""
    (folder / "indexes.yaml").write_text(DEFINITIONS)
    return settings_without_storage(folder)


def settings_without_storage(folder: Path) -> dict[str, str]:
    """Of an app that answers, and reaches nothing."""
    storage = "UseDevelopmentStorage=true"
    definitions = str(folder / "indexes.yaml")
    return {"AzureWebJobsStorage": storage, "INDEX_STORAGE": storage, "INDEX_DEFINITIONS": definitions}
