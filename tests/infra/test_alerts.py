"""The alerts read lines that the app writes, miss none that somebody must see, and are explained."""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING, Final

import pytest

from shared.monitoring import telemetry
from tests.infra.checks import project_deployment
from tests.infra.settings import app_settings
from tests.infra.templates import INFRA
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

RULE: Final = "Microsoft.Insights/scheduledQueryRules"
DEPLOY: Final = ROOT / "docs/deploy.md"


def queries() -> dict[str, str]:
    """The query of each alert by its name."""
    rules = [one for one in project_deployment() if one.type == RULE]
    return {
        one.name.removeprefix("index-tables-"): one.body["properties"]["criteria"]["allOf"][0]["query"] for one in rules
    }


def test_every_alert_reads_a_line_that_the_code_writes() -> None:
    """An alert on another text would never be raised."""
    started = re.findall(r'Message startswith "([^"]+)"', " ".join(queries().values()))
    code = "".join(path.read_text() for path in (ROOT / "shared").rglob("*.py"))
    assert started
    assert [text for text in started if text not in code] == []


@pytest.mark.parametrize(
    "measured",
    [
        lambda: telemetry.lag_measured("people", [], 42.0, None),
        lambda: telemetry.lag_measured("people", [], None, "The feed does not answer."),
    ],
    ids=["measured", "unknown"],
)
def test_every_field_of_a_lag_line_is_read_by_an_alert(
    measured: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    """A source whose lag nobody can tell must not look like one that is up to date."""
    with caplog.at_level(logging.INFO):
        measured()
    (line,) = caplog.messages
    fields = json.loads(line.partition(": ")[2])
    read = set(re.findall(r"\bline\.(\w+)", " ".join(queries().values())))
    assert sorted(fields.keys() - read) == []


def workbook_queries() -> list[str]:
    """The queries of the workbook."""
    items = json.loads((INFRA / "app/workbook.json").read_text())["items"]
    return [one["content"]["query"] for one in items if "query" in one["content"]]


def test_no_trace_is_left_out_and_no_line_with_it() -> None:
    """The exporter keeps five traces a second unless told otherwise, and drops the lines of the rest."""
    given = app_settings(project_deployment())
    assert given["OTEL_TRACES_SAMPLER"] == "microsoft.fixed_percentage"
    assert float(given["OTEL_TRACES_SAMPLER_ARG"]) == 1.0


def test_requests_are_counted_by_how_many_each_row_stands_for() -> None:
    """A row that was sampled stands for several requests, and says for how many."""
    of_requests = [one for one in (*queries().values(), *workbook_queries()) if one.startswith("AppRequests")]
    assert of_requests
    assert [one for one in of_requests if "sum(ItemCount)" not in one or re.search(r"\bcount(if)?\(", one)] == []


def test_only_a_lag_that_was_measured_breaks_the_silence() -> None:
    """A line that says that nobody knows is no sign of life."""
    assert "countif(isnotnull(lag))" in queries()["silence"]


def test_silence_is_an_alert_after_three_periods_and_not_while_the_app_is_being_installed() -> None:
    """The rules are there before the app is, and an app that was just deployed has measured nothing."""
    (rule,) = [one for one in project_deployment() if one.name == "index-tables-silence"]
    assert rule.body["properties"]["windowSize"] == "PT45M"
    assert queries()["silence"].endswith("| where measured == 0 and now() > datetime(2026-11-18T12:00:00Z) + 45m")


def test_the_alert_on_what_cannot_be_measured_waits_and_names_the_source() -> None:
    """One failed question to a feed is no reason to wake anybody; 15 minutes without one answer are."""
    query = queries()["unmeasured"]
    assert "by source" in query
    assert query.endswith("| where measured == 0 and asked >= 10")


def test_every_alert_is_in_the_table_that_says_what_to_do() -> None:
    """And the table has no other."""
    section = DEPLOY.read_text().partition("## Alerts")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| ([a-z-]+) \|", section, re.MULTILINE)) - {"alert"} == set(queries())


def test_the_operators_page_names_only_alerts_that_there_are() -> None:
    """They are written as: the alert `name`."""
    named = re.findall(r"[Aa]lert `([a-z-]+)`", (ROOT / "docs/operations.md").read_text())
    assert named
    assert set(named) - set(queries()) == set()
